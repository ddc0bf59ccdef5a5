/* A core needs a header of this name; the sketch calls nothing of Arduino's. */
#ifdef __cplusplus
extern "C" {
#endif
void setup(void);
void loop(void);
#ifdef __cplusplus
}
#endif
