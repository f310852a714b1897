/**
 * What goes wrong comes in three kinds. A refusal answers what somebody gave or asked for, and has a code. A failure is
 * the network, the disk or another machine, and may be tried again or reported. Everything else is a mistake of ours.
 */

/** Base of every refusal; programs decide by `code`, people read the message. */
export abstract class Refusal<Code extends string = string> extends Error {
  readonly code: Code
  constructor(code: Code, sentence: string, options?: ErrorOptions) {
    super(sentence, options)
    this.code = code
  }
}

/** Base of every failure. */
export abstract class Failure extends Error {}

/** The code by which the operating system or the runtime names an error, such as ENOENT. */
export function systemCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || error instanceof Refusal || !('code' in error)) return undefined
  return typeof error.code === 'string' ? error.code : undefined
}
