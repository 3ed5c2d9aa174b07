#pragma once

/// A thread that may go on, and all others that wait for that.
typedef struct world_turn world_turn;

world_turn *world_turn_new(void);
void world_turn_free(world_turn *turn);

/// What the thread of `turn` does once it has a turn; on that thread, and it returns when the thread has given its last one.
void world_turn_take(world_turn *turn, void (*body)(void *context), void *context);

/// Gives the first turn, from a thread that has none.
void world_turn_begin(world_turn *first);

/// Goes on with another thread; returns when this one has a turn again.
void world_turn_give(world_turn *from, world_turn *to);

/// The same as the last thing in `body`; with it, it returns at once or not at all.
void world_turn_give_last(world_turn *from, world_turn *to);
