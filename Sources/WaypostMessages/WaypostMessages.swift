import Waypost
