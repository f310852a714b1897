/**
 * One request at a time on each connection of a server. Requests that are written without waiting for answers are cheap
 * to send and all of them are parsed, those of one read in one go, before anything can refuse them.
 */

/** What the runtime's parser of a connection shows of itself. */
type Parser = Record<number, unknown> & { constructor: { kOnHeadersComplete?: unknown } }
type Connection = { destroy(): unknown; parser?: unknown }
type AnswerEnd = { once(event: 'close', listener: () => void): unknown }

/** What tells the parser that nothing of HTTP follows. */
const NO_MORE = 2
/** A request that is answered at once may be followed by one more before the loop turns: a client can be that fast. */
const IN_A_TURN_MAX = 2

/** The connections of one server; each request asks `admit` before it is handled. */
export class OneAtATime {
  readonly #busy = new WeakSet<Connection>()
  /** Requests since the loop turned: what is answered while it is parsed is never busy when the next one comes. */
  readonly #inThisTurn = new Map<Connection, number>()

  /** Whether the request may go on; one that did not wait for the answer before it ends its connection. */
  admit(connection: Connection, answer: AnswerEnd): boolean {
    const before = this.#inThisTurn.get(connection) ?? 0
    if (this.#busy.has(connection) || before >= IN_A_TURN_MAX) {
      stopParsing(connection.parser)
      connection.destroy()
      return false
    }
    if (this.#inThisTurn.size === 0) setImmediate(() => this.#inThisTurn.clear())
    this.#inThisTurn.set(connection, before + 1)
    this.#busy.add(connection)
    answer.once('close', () => this.#busy.delete(connection))
    return true
  }
}

/** Keeps the rest of what was read from being parsed; the parser is used again for other connections later. */
function stopParsing(given: unknown): void {
  const parser = given as Parser | undefined
  const at = parser?.constructor.kOnHeadersComplete
  if (parser === undefined || typeof at !== 'number') return
  const usual = parser[at]
  parser[at] = () => NO_MORE
  setImmediate(() => {
    parser[at] = usual
  })
}
