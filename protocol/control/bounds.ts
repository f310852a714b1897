/** Bounds of what people write and set, apart from the shapes that hold to them: a screen says each before it is hit. */

/** UTF-16 units of a text; the body in which it is sent has as many bytes at most. */
export const TEXT_CHARACTERS_MAX = 2 * 1024 * 1024
export const PETNAME_CHARACTERS_MAX = 64
/** Of why a task is declined or withdrawn, and of what is said beside a rating. */
export const REASON_CHARACTERS_MAX = 4096
export const PATH_CHARACTERS_MAX = 4096

/** Of the passphrase that opens a backup. */
export const PASSPHRASE_CHARACTERS_MIN = 12
export const PASSPHRASE_CHARACTERS_MAX = 1024

/** Answers of the auto-reply in one task. */
export const ANSWERS_MAX = 1000
/** Turns of a conversation that a run sees. */
export const TURNS_SEEN_MAX = 200
/** Seconds of one run, and between two looks at what waits. */
export const RUN_SECONDS_MAX = 3600
