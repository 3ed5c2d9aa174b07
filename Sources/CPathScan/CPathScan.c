#include "CPathScan.h"
