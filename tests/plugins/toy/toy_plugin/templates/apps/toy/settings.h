#define TOY 1
