/**
 * Timers, pauses and deadlines as something that is passed in: a program takes those of its machine, a test may take
 * its own, under which an hour passes at once. Nothing else in the hub and the node asks the runtime for them.
 */
/** A timer that was set; `unref` lets the process end although it is still to come. */
export type Timer = {
    unref(): Timer;
};
/** What sets timers. Times are milliseconds. */
export type Timers = {
    /** The time since some moment, which no change of the clock moves. */
    monotonic(): number;
    /** Does it once, after so long. */
    after(ms: number, work: () => void): Timer;
    /** Does it again and again. */
    every(ms: number, work: () => void): Timer;
    /** Ends a timer, or nothing where none was set. */
    clear(timer: Timer | undefined): void;
    /** A signal that aborts with a `TimeoutError` after so long, and keeps no process alive. */
    deadline(ms: number): AbortSignal;
};
/** The timers of the machine. */
export declare const systemTimers: Timers;
/** The clock of the machine, Unix milliseconds. */
export declare const systemNow: () => number;
/** Waits so long; rejects with the reason of the signal once that aborts. */
export declare function sleep(timers: Timers, ms: number, signal?: AbortSignal): Promise<void>;
/** Waits until whatever else is ready had its turn; no clock is asked. */
export declare const nextTurn: () => Promise<void>;
/** Does it once whatever else is ready had its turn. */
export declare const soon: (work: () => void) => void;
