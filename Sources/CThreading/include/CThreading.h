#pragma once

/// A new eventfd that neither blocks nor survives an exec; -1 with `errno` when there is none.
int waypost_eventfd(void);

/// Linux's id of the calling thread, as `ps -L` shows it.
long waypost_thread_id(void);
