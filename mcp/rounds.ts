/**
 * Calls that are made in several rounds (MCP 2026-07-28): what a call needs of the user or of the client goes back as its
 * result, and the client makes the same call again with the answers.
 */
import { randomUUID } from 'node:crypto'
import type { InputRequest, InputRequiredResult } from '@modelcontextprotocol/server'

const WAITING_MAX = 1_000

/** Thrown where a call can't go on before its client has answered. */
export class InputNeeded extends Error {
  override name = 'InputNeeded'
  readonly question: string
  readonly request: InputRequest
  constructor(question: string, request: InputRequest) {
    super('the client is asked first')
    this.question = question
    this.request = request
  }
}

/** One call with all its rounds: what it sends carries the same key in each, so that it is sent once. */
export type Round = {
  readonly key: string
  readonly call: string
  readonly answers: ReadonlyMap<string, unknown>
}

const ANSWER = 'answer'

/** The calls whose questions were put and not answered yet; an answer is taken once, and for its own call only. */
export class Rounds {
  readonly #waiting = new Map<string, Round & { question: string }>()

  /** The round that a call is in: a new one where its state is none of ours, was taken, or is another call's. */
  of(call: string, state: unknown, responses: Readonly<Record<string, unknown>> = {}): Round {
    const known = typeof state === 'string' ? this.#waiting.get(state) : undefined
    if (known === undefined || known.call !== call) return { key: randomUUID(), call, answers: new Map() }
    this.#waiting.delete(state as string)
    const { key, question } = known
    return { key, call, answers: new Map([...known.answers, [question, responses[ANSWER]]]) }
  }

  /** The result that asks. */
  ask({ question, request }: InputNeeded, round: Round): InputRequiredResult {
    const [oldest] = this.#waiting.keys()
    if (this.#waiting.size >= WAITING_MAX && oldest !== undefined) this.#waiting.delete(oldest)
    const requestState = randomUUID()
    this.#waiting.set(requestState, { ...round, question })
    return { resultType: 'input_required' as const, inputRequests: { [ANSWER]: request }, requestState }
  }
}
