/** One piece of work and the hands of its people: each call is repeated until it is answered, each step waits for the one before. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Name, Outcome, Payment, Task, Turn, View } from './history.ts'
import { Asked, type Reply } from './processes.ts'

const LOOK_MS = 250
/** What a piece of work may take with everything that happens meanwhile. */
export const PATIENCE_MS = 300_000

/** What only a person says yes to; others that wait then keep the reason. */
const FIRST_ACROSS = 'the first payment to an agent of another hub'

/** The step that did not come. */
export class DidNotHappen extends Error {}

/** The node said why it does not pay what was asked for; its people read it and delegate anew. */
export class NotPaid extends Error {}

/** Where people work. */
export type Ground = {
  readonly folder: string
  ask(who: Name, method: string, path: string, body?: unknown, patienceMs?: number): Promise<Reply>
  aid(who: Name): string
}

export class Script {
  readonly world: Ground
  readonly task: Task
  /** Whether its price is paid by what the node may spend by itself, and not by the word of a person. */
  isByRules = false
  readonly #end = Date.now() + PATIENCE_MS

  constructor(world: Ground, n: number, kind: string, from: Name, to: Name) {
    this.world = world
    this.task = {
      n,
      kind,
      from,
      to,
      id: '',
      startedMs: Date.now(),
      said: [],
      outcome: 'receipt',
      moves: 0,
      isFinished: false,
    }
  }

  get text(): string {
    return `task ${this.task.n}`
  }

  #key(of: string): string {
    return `${of}-${this.task.n}`
  }

  ask(who: Name, path: string, body: object): Promise<Reply> {
    return this.world.ask(who, 'POST', path, body, Math.max(0, this.#end - Date.now()))
  }

  /** What a side shows; undefined where it does not have the task. */
  async view(who: Name, id = this.task.id): Promise<View | undefined> {
    try {
      const reply = await this.ask(who, '/thread', { interaction_id: id, max_chars: 1_000_000 })
      return reply as unknown as View & { turns: Turn[] }
    } catch (error) {
      if (error instanceof Asked && error.reply['reason'] === 'unknown_interaction') return undefined
      throw error
    }
  }

  async until(what: string, holds: () => Promise<boolean>): Promise<void> {
    this.task.waitedFor = what
    while (!(await holds())) {
      if (Date.now() > this.#end) throw new DidNotHappen(what)
      await pause(LOOK_MS)
    }
  }

  #noteSaid(by: Name, to: Name, text: string, atMs: number): void {
    this.task.said.push({ by, to, text, atMs })
  }

  /** Hands the task over; what is acknowledged is noted. */
  async delegate(what: object): Promise<string> {
    this.task.waitedFor = 'the delegation'
    const { from, to } = this.task
    const order = { to: this.world.aid(to), idempotency_key: this.#key('order'), ...what }
    const atMs = Date.now()
    const id = (await this.ask(from, '/delegate', order))['interaction_id'] as string
    this.task.id = id
    if ('task' in what) this.#noteSaid(from, to, what.task as string, atMs)
    return id
  }

  /** The same for a price, from the quote to the task that is paid. */
  async delegatePaid(what: object, most: number): Promise<void> {
    const word = this.isByRules ? {} : { pay: true, max_credits: most }
    const quote = await this.delegate({ ...what, ...word })
    const { from } = this.task
    const said = this.task.said.splice(0)
    let reason: string | undefined
    await this.until('the price and its payment', async () => {
      const view = await this.view(from, quote)
      const payment = view?.payment as (Payment & { paid_as?: string }) | undefined
      if (payment?.paid_as !== undefined) this.task.id = payment.paid_as
      reason = payment?.state === 'open' ? payment.reason : undefined
      if (reason?.includes(FIRST_ACROSS) === true) {
        await this.press(from, '/approve', {})
        reason = undefined
      }
      return payment?.paid_as !== undefined || reason !== undefined
    })
    if (reason !== undefined) throw new NotPaid(reason)
    this.task.said.push(...said)
  }

  async say(by: Name, text: string): Promise<void> {
    this.task.waitedFor = `the acknowledgement of ${text}`
    const { from, to, id } = this.task
    const atMs = Date.now()
    await this.ask(by, '/message', { interaction_id: id, text, idempotency_key: this.#key(text) })
    this.#noteSaid(by, by === from ? to : from, text, atMs)
  }

  /** Until a side reads these words. */
  read(who: Name, text: string): Promise<void> {
    return this.until(`${who} reads ${text}`, async () => {
      const view = await this.view(who)
      return view?.turns.some(turn => !turn.mine && turn.text === text) === true
    })
  }

  async arrived(): Promise<void> {
    const { to } = this.task
    await this.until(`the task arrives at ${to}`, async () => {
      const view = await this.view(to)
      return view !== undefined && view.state !== 'pending'
    })
  }

  async payment(who: Name, ...states: string[]): Promise<void> {
    let reason: string | undefined
    await this.until(`${who} says that the payment is ${states.join(' or ')}`, async () => {
      const { payment } = (await this.view(who)) ?? {}
      const { payment: paid } = (await this.view(this.task.from)) ?? {}
      // what its provider refused stays open to its payer until the authorization is over, which says until when
      const isSaid = paid?.problem === 'said_refused' && paid.held_until !== undefined
      reason = paid?.state === 'refused' || isSaid ? paid?.reason : undefined
      return (payment !== undefined && states.includes(payment.state)) || reason !== undefined
    })
    if (reason !== undefined) throw new NotPaid(reason)
  }

  /** A call of its people that the state of the task may have made needless. */
  async press(who: Name, path: string, body: object): Promise<void> {
    try {
      await this.ask(who, path, { interaction_id: this.task.id, ...body })
    } catch (error) {
      if (!(error instanceof Asked) || error.reply['reason'] !== 'wrong_state') throw error
    }
  }

  /** Both end it, each as often as it takes, until both hold the receipt. */
  async finish(): Promise<void> {
    const { from, to } = this.task
    await this.press(from, '/end', { mode: 'either' })
    await this.until('the proposal to end', async () => {
      const state = (await this.view(to))?.state
      return state !== undefined && state !== 'open' && state !== 'delivered'
    })
    await this.press(to, '/end', { mode: 'either' })
    await this.receipts()
  }

  async receipts(): Promise<void> {
    for (const who of [this.task.from, this.task.to])
      await this.until(
        `the receipt at ${who}`,
        async () => (await this.view(who))?.receipt?.verified === true,
      )
    await this.until('the counter-signature', async () => {
      const reply = await this.ask(this.task.to, '/verify', { interaction_id: this.task.id })
      return reply['counter_signed'] === true
    })
  }

  /** Until both sides say the end and what it moved. */
  async settled(outcome: Outcome, moves: number, ...states: string[]): Promise<void> {
    this.task.outcome = outcome
    this.task.moves = moves
    for (const who of [this.task.from, this.task.to]) await this.payment(who, ...states)
  }
}

/** A task from its first word to its last; why its node does not pay, where it says so. */
export async function carryOut(
  script: Script,
  run: (script: Script) => Promise<void>,
): Promise<string | undefined> {
  const { task } = script
  try {
    await run(script)
    task.isFinished = true
    task.isKnown = true
  } catch (error) {
    if (error instanceof NotPaid) {
      task.moves = 0
      task.isKnown = true
      return error.message
    }
    if (!(error instanceof Error)) throw error
    const refused = error instanceof Asked ? JSON.stringify(error.reply) : ''
    if (error instanceof Asked) task.refused = error.reply['reason'] as string
    task.waitedFor = `${task.waitedFor} ${refused}`.trim()
  }
  return undefined
}
