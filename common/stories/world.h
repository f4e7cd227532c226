/* The small world that stories tell of: what can happen in it, and what is so afterwards. */
#ifndef STORIES_WORLD_H
#define STORIES_WORLD_H

#include <stdbool.h>

typedef enum {
    FIRST,
    ANOTHER,
    BE,
    OWN,
    FIND,
    GO,
    GO_TOGETHER,
    MEET,
    LIKE,
    ASK,
    GIVE,
    THANK,
    LEAVE,
    TAKE,
    FEEL,
    END,
    WHO_HAS,
    WHERE_HELD,
    WHERE_LEFT,
    WHERE_WHO,
    WHO_IS,
    WHO_FOUND,
    COLOUR,
    EVENTS,
    QUESTIONS = WHO_HAS
} What;

/* An event: indices of the words in words.h, NONE where the event has none. */
enum { NONE = -1 };
typedef struct {
    What what;
    int a, b;         /* who, and with whom or to whom */
    int manner, kind; /* what `a` is */
    int colour, thing;
    int place;
} Event;

enum { PEOPLE = 3, OBJECTS = 2 };

typedef struct {
    int people, objects;
    struct {
        int name, manner, kind, place;
    } person[PEOPLE];
    /* The owner and the finder are persons; the place is where it lies without an owner. */
    struct {
        int colour, thing, owner, finder, place;
    } object[OBJECTS];
    Event last;
    bool ended;
} World;

/* For a question: whether its answer is true. */
bool possible(const World *world, const Event *event);

void happen(World *world, const Event *event);

/* Completes what a wording leaves out: people act where they are, and ask the owner of the
 * thing. */
void complete(const World *world, Event *event);

#endif
