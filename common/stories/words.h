/* The words of the stories, by kind. */
#ifndef STORIES_WORDS_H
#define STORIES_WORDS_H

#include <string.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

enum { GIRLS = 10 }; /* the others are boys */
static const char *const names[] = {"Anna", "Clara", "Daisy", "Emma",  "Ida",  "Lucy",  "Mia",
                                    "Nora", "Ruby",  "Zoe",   "Ben",   "Carl", "Felix", "Hugo",
                                    "Jack", "Leo",   "Max",   "Oscar", "Sam",  "Tom"};
static const char *const manners[] = {"brave",  "busy",  "cheerful", "clever", "curious", "gentle",
                                      "lonely", "proud", "quiet",    "shy",    "sleepy",  "young"};
static const char *const kinds[] = {"bear",  "cat",   "child", "dragon", "duck",  "fox",     "frog",
                                    "horse", "mouse", "owl",   "rabbit", "robot", "squirrel"};
static const char *const places[] = {
    "attic",  "bakery", "castle", "cave",   "field", "forest",  "garden",  "kitchen", "library",
    "market", "meadow", "museum", "school", "shop",  "station", "theatre", "tower",   "village"};
static const char *const colours[] = {"black",  "blue", "brown",  "golden", "green", "orange",
                                      "purple", "red",  "silver", "white",  "yellow"};
static const char *const things[] = {"apple",   "ball",   "basket", "bell",     "blanket", "book",
                                     "bottle",  "button", "candle", "coin",     "crown",   "drum",
                                     "feather", "flower", "hat",    "kite",     "lamp",    "mirror",
                                     "scarf",   "shell",  "spoon",  "umbrella", "whistle"};

static inline const char *article(const char *word) {
    return strchr("aeiou", word[0]) ? "an" : "a";
}

#endif
