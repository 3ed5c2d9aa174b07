#pragma once

/// Gives free memory of the allocator back to the system; does nothing with a C library other than glibc, which keeps
/// none.
void waypost_release_heap(void);

/// Takes the pages of program and libraries out of the process that nothing wrote to and that need not be there now.
///
/// They stay in the system's cache of files as long as no one else needs the space, and come back when they are used.
void waypost_release_program(void);
