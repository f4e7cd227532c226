#include "common/stories/world.h"

static int person_named(const World *world, int name) {
    for (int i = 0; i < world->people; i++)
        if (world->person[i].name == name) return i;
    return NONE;
}

static int object_like(const World *world, int colour, int thing) {
    for (int i = 0; i < world->objects; i++)
        if (world->object[i].colour == colour && world->object[i].thing == thing) return i;
    return NONE;
}

static int how_many(const World *world, int thing) {
    int count = 0;
    for (int i = 0; i < world->objects; i++) count += world->object[i].thing == thing;
    return count;
}

static bool all_placed(const World *world) {
    for (int i = 0; i < world->people; i++)
        if (world->person[i].place == NONE) return false;
    return world->people > 0;
}

bool possible(const World *world, const Event *event) {
    int a = person_named(world, event->a), b = person_named(world, event->b);
    int object = object_like(world, event->colour, event->thing);
    int owner = object == NONE ? NONE : world->object[object].owner;
    int place = a == NONE ? NONE : world->person[a].place;
    bool known = a != NONE, placed = place != NONE, here = placed && event->place == place;
    bool together = placed && b != NONE && b != a && world->person[b].place == place;
    bool has = known && owner == a && object != NONE, lies = object != NONE && owner == NONE;

    if (event->what >= QUESTIONS ? !world->ended : world->ended) return false;
    switch (event->what) {
    case FIRST: return world->people == 0;
    case ANOTHER: return !known && world->people > 0 && world->people < PEOPLE;
    case BE: return known && !placed;
    case OWN:
    case FIND: return here && object == NONE && world->objects < OBJECTS;
    case GO: return placed && !here;
    case GO_TOGETHER: return together && !here;
    case MEET: return together;
    case LIKE:
    case ASK: return together && object != NONE && owner == b;
    case GIVE: return together && has;
    case THANK:
        return together && world->last.what == GIVE && world->last.a == event->b &&
               world->last.b == event->a;
    case LEAVE: return has && here;
    case TAKE: return placed && lies && world->object[object].place == place;
    case FEEL: return placed;
    case END: return all_placed(world);
    case WHO_HAS:
    case WHERE_HELD: return has;
    case WHERE_LEFT: return lies && world->object[object].place == event->place;
    case WHERE_WHO: return here;
    case WHO_IS:
        return known && world->person[a].manner == event->manner &&
               world->person[a].kind == event->kind;
    case WHO_FOUND: return object != NONE && known && world->object[object].finder == a;
    case COLOUR: return object != NONE && how_many(world, event->thing) == 1;
    case EVENTS: break;
    }
    return false;
}

void happen(World *world, const Event *event) {
    int a = person_named(world, event->a), b = person_named(world, event->b);
    int object = object_like(world, event->colour, event->thing);
    switch (event->what) {
    case FIRST:
    case ANOTHER:
        world->person[world->people].name = event->a;
        world->person[world->people].manner = event->manner;
        world->person[world->people].kind = event->kind;
        world->person[world->people++].place = NONE;
        break;
    case OWN:
    case FIND:
        world->object[world->objects].colour = event->colour;
        world->object[world->objects].thing = event->thing;
        world->object[world->objects].finder = event->what == FIND ? a : NONE;
        world->object[world->objects++].owner = a;
        break;
    case GO_TOGETHER: world->person[b].place = event->place; [[fallthrough]];
    case BE:
    case GO: world->person[a].place = event->place; break;
    case GIVE: world->object[object].owner = b; break;
    case LEAVE:
        world->object[object].owner = NONE;
        world->object[object].place = event->place;
        break;
    case TAKE: world->object[object].owner = a; break;
    case END: world->ended = true; break;
    default: break; /* nothing changes */
    }
    world->last = *event;
}

void complete(const World *world, Event *event) {
    int a = person_named(world, event->a), object = object_like(world, event->colour, event->thing);
    if (event->place == NONE && a != NONE) event->place = world->person[a].place;
    if (event->what == ASK && event->b == NONE && object != NONE &&
        world->object[object].owner != NONE)
        event->b = world->person[world->object[object].owner].name;
}
