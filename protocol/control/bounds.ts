/** Bounds of what people write and set, apart from the shapes that hold to them: a screen says each before it is hit. */

/** UTF-16 units of a text; the body in which it is sent has as many bytes at most. */
export const TEXT_CHARACTERS_MAX = 2 * 1024 * 1024
/** Letters of a petname. */
export const PETNAME_CHARACTERS_MAX = 64
/** UTF-8 bytes of the words of one message: it may have to go with a long history of keys. */
export const WORDS_BYTES_MAX = 644 * 1024
/** UTF-16 units of a path of the machine of the node. */
export const PATH_CHARACTERS_MAX = 4096

/** UTF-16 units of the code by which a hub's operator lets an agent in. */
export const TOKEN_CHARACTERS_MAX = 256

/** Of the passphrase that opens a backup. */
export const PASSPHRASE_CHARACTERS_MIN = 12
/** The same at most. */
export const PASSPHRASE_CHARACTERS_MAX = 1024

/** Open tasks and messages that one stranger may be given. */
export const GUEST_MESSAGES_MAX = 10_000

/** Answers of the auto-reply in one task. */
export const ANSWERS_MAX = 1000
/** Turns of a conversation that a run sees. */
export const TURNS_SEEN_MAX = 200
/** Seconds of one run, and between two looks at what waits. */
export const RUN_SECONDS_MAX = 3600
