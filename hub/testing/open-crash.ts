/**
 * For tests: open mail over kill -9. Letters go, are polled and acked, and cards are ordered, while the hub may die; then the
 * next process is held to everything that the one before had answered.
 */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { toBase64 } from '../../protocol/encoding/bytes.ts'
import { orderRunningHub } from '../operator/socket.ts'
import { openWriter } from '../store/sqlite/database.ts'
import { random } from './hub.ts'
import { type HubChild, startHubChild } from './process.ts'
import { OpenAgent, Wire1Client } from './wire1.ts'

const LANES = 6
/** Every so often a letter is so long that it lies in a file. */
const LONG_EVERY = 5
const LONG_BYTES = 80_000
const SHORT_BYTES = 200
const POLL_MAX = 1000

type Got = { id: string; payload: string }
/** A card that was ordered: what was signed, and its id once that was answered. */
type Ordered = { request: Record<string, unknown>; id: string | undefined }

class Answered extends Error {}

export class OpenCrash {
  readonly #directory: string
  #hub: HubChild
  readonly #client: Wire1Client
  readonly #agent: OpenAgent
  /** Of letters that were queued, by their ids. */
  readonly #taken = new Map<string, string>()
  /** Letters without an answer. */
  readonly #unanswered = new Set<string>()
  readonly #acked = new Set<string>()
  /** Acks without an answer. */
  readonly #maybeAcked = new Set<string>()
  readonly #ordered: Ordered[] = []
  readonly #wrong: string[] = []
  #lastMs = 0
  figures = { letters: 0, acks: 0, cards: 0, kills: 0 }

  private constructor(directory: string, hub: HubChild) {
    this.#directory = directory
    this.#hub = hub
    const urlNow = () => this.#hub.url
    this.#client = new Wire1Client({
      get url() {
        return urlNow()
      },
      aid: hub.aid,
      clock: hub.clock,
      running: { order: given => orderRunningHub(directory, given) },
    })
    this.#agent = new OpenAgent(this.#client)
  }

  static async start(directory: string): Promise<OpenCrash> {
    const one = new OpenCrash(directory, await startHubChild(directory, { args: ['--wire', '1'], env: {} }))
    await orderRunningHub(directory, { command: 'admit', aid: one.#agent.aid })
    if ((await one.#agent.register()).status !== 200) throw new Error('not registered')
    return one
  }

  /** Works until the hub dies: after so many milliseconds, or at a point of its own; what is wrong afterwards. */
  async die({ afterMs, fault }: { afterMs?: number; fault?: string }): Promise<string[]> {
    if (fault !== undefined) await this.#startAgain(fault)
    const lanes = Promise.all(Array.from({ length: LANES }, (_, lane) => this.#work(lane)))
    if (afterMs !== undefined) {
      await pause(afterMs)
      this.#hub.kill('SIGKILL')
    }
    await Promise.all([lanes, this.#hub.exited])
    this.figures.kills += 1
    await this.#startAgain()
    return await this.#faults()
  }

  /** Letters are taken out of the store behind the hub's back; what is wrong then. */
  async lose(): Promise<string[]> {
    await this.#send(false)
    this.#hub.kill('SIGKILL')
    await this.#hub.exited
    const db = openWriter(join(this.#directory, 'hub.db'))
    db.run('DELETE FROM open_message')
    db.close()
    await this.#startAgain()
    return await this.#faults()
  }

  async stop(): Promise<void> {
    this.#hub.kill('SIGKILL')
    await this.#hub.exited
    rmSync(this.#directory, { recursive: true, force: true })
  }

  async #startAgain(fault?: string): Promise<void> {
    this.#hub.kill('SIGKILL')
    await this.#hub.exited
    const given = { args: ['--wire', '1'], env: {} }
    this.#hub = await startHubChild(this.#directory, fault === undefined ? given : { ...given, fault })
  }

  /** One thing after the other, until there is no answer any more. */
  async #work(lane: number): Promise<void> {
    const send = () => this.#send(false)
    const steps = [send, () => this.#ack(), send, () => this.#order()]
    try {
      for (let n = lane; ; n++) {
        if (n % LONG_EVERY === 0) await this.#send(true)
        await (steps[n % steps.length] as () => Promise<void>)()
      }
    } catch (error) {
      // the hub is gone, unless it said so
      if (error instanceof Answered) this.#wrong.push(error.message)
    }
  }

  async #send(isLong: boolean): Promise<void> {
    const payload = toBase64(random(isLong ? LONG_BYTES : SHORT_BYTES))
    const letter = { to_aid: this.#agent.aid, from_aid: 'x', kind: 'message', interaction_id: 'i', payload }
    this.#unanswered.add(payload)
    const { status, json } = await this.#client.post('/relay/send', letter)
    if (status !== 200) throw new Answered(`a letter is answered ${status}`)
    this.#unanswered.delete(payload)
    this.#taken.set(String(json['id']), payload)
    this.figures.letters += 1
  }

  async #ack(): Promise<void> {
    const messages = (await this.#agent.poll({ limit: 1 })).json['messages'] as Got[]
    const ids = messages.map(({ id }) => id)
    for (const id of ids) this.#maybeAcked.add(id)
    await this.#acknowledge(ids)
    this.figures.acks += 1
  }

  async #acknowledge(ids: string[]): Promise<void> {
    const { status } = await this.#client.post('/relay/ack', { ...this.#agent.sign('ack'), ids })
    if (status !== 200) throw new Answered(`an ack is answered ${status}`)
    for (const id of ids) this.#acked.add(id)
  }

  async #order(): Promise<void> {
    this.#lastMs = Math.max(this.#lastMs + 1, this.#client.hub.clock.now())
    const signed = this.#agent.sign('task.create', { ts: this.#lastMs })
    const ordered: Ordered = { request: { ...signed, title: `card ${this.#lastMs}` }, id: undefined }
    this.#ordered.push(ordered)
    await this.#showAgain(ordered)
    this.figures.cards += 1
  }

  async #showAgain(ordered: Ordered): Promise<string> {
    const { status, json } = await this.#client.post('/tasks/create', ordered.request)
    if (status !== 200) throw new Answered(`a card is answered ${status}`)
    const { id } = json['card'] as { id: string }
    ordered.id ??= id
    return id
  }

  async #faults(): Promise<string[]> {
    return [...this.#wrong.splice(0), ...(await this.#faultsOfMail()), ...(await this.#faultsOfCards())]
  }

  async #faultsOfMail(): Promise<string[]> {
    const acked = new Set(this.#acked)
    const here = new Map((await this.#collected()).map(({ id, payload }) => [id, payload]))
    const isLost = ([id, payload]: [string, string]): boolean =>
      here.has(id) ? here.get(id) !== payload : !this.#maybeAcked.has(id)
    const isNew = ([id, payload]: [string, string]): boolean =>
      !this.#taken.has(id) && !this.#unanswered.has(payload)
    const faults = [
      ...[...this.#taken].filter(isLost).map(([id]) => `letter ${id} was taken and is lost, or another`),
      ...[...here].filter(isNew).map(([id]) => `letter ${id} was never sent`),
      ...[...here.keys()].filter(id => acked.has(id)).map(id => `letter ${id} was acked and came back`),
    ]
    for (const id of here.keys()) this.#maybeAcked.add(id)
    return faults
  }

  /** All that waits; it is acked, so that the next round begins with an empty mailbox. */
  async #collected(): Promise<Got[]> {
    const all: Got[] = []
    for (let last: Got[] | undefined; last?.length !== 0; all.push(...last)) {
      const { status, json } = await this.#agent.poll({ limit: POLL_MAX })
      if (status !== 200) throw new Answered(`a poll is answered ${status}`)
      last = json['messages'] as Got[]
      await this.#acknowledge(last.map(({ id }) => id))
    }
    return all
  }

  /** Each order makes one card, however often it is shown. */
  async #faultsOfCards(): Promise<string[]> {
    const faults: string[] = []
    for (const ordered of this.#ordered) {
      const before = ordered.id
      const id = await this.#showAgain(ordered)
      if (before !== undefined && before !== id) faults.push(`the order of card ${before} made ${id} as well`)
    }
    const { columns } = (await this.#client.get('/tasks/board')).json as { columns: { cards: unknown[] }[] }
    const cards = columns.flatMap(column => column.cards).length
    if (cards !== this.#ordered.length) faults.push(`${this.#ordered.length} orders made ${cards} cards`)
    return faults
  }
}
