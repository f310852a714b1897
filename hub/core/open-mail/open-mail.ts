/**
 * Open mail: messages that the hub can read, from whoever says to have sent them. Nothing is judged but the recipient and
 * room; polling is the sign of life. Attacker: anybody, since nobody signs a send.
 */
import { toBase64url } from '../../../protocol/encoding/bytes.ts'
import type { OpenKind, OpenMailbox, OpenMessage, OpenOnce } from '../../store/open-mail-port.ts'
import { addressBucket, isProxy } from '../address.ts'
import type { Agent, Agents } from '../agents.ts'
import type { HubContext } from '../context.ts'
import { DAY_MS, QUIET_AFTER_MS } from '../limits.ts'
import type { Buckets, RateName } from '../ports/rates.ts'
import { Refusal, withoutRoom } from '../refusal.ts'
import { LetterFiles, type Payload } from './letter-files.ts'

/** Bytes of payloads in one answer, unless the first alone is larger. */
const POLL_BYTES_MAX = 48 * 1024 * 1024
const POLL_MESSAGES_DEFAULT = 100
const POLL_MESSAGES_MAX = 1000
const ID_BYTES = 16
const POLL_NOTED_EVERY_MS = 60_000
/** An agent that has not asked for its mail for so long is not listed. */
export const ABANDONED_AFTER_MS = 30 * DAY_MS
const LEFT_MAIL_MS = 30 * DAY_MS
const KIB = 1024
/** Of the messages of a mailbox, and of the bytes of all open mail, what one address sends at once, and in each hour after it. */
const ADDRESS_SHARE = 0.5
const ADDRESS_REFILLS_SECONDS = 3600
/** Whose results were sent: who makes them up takes no room without end. */
const TASKS_REMEMBERED_MAX = 100_000

/** Whether anybody is there: `unknown` before the first poll. */
export type Liveness = 'unknown' | 'awake' | 'quiet' | 'abandoned'

export type GivenMessage = {
  to: string
  from: string
  kind: OpenKind
  interaction: string
  payload: Payload
  /** The hub itself writes it, for a visitor. */
  ofVisitor?: true
}
/** `once`: nothing is queued for a repeat of it; `share`: of each room, from 0 to 1; `address`: of who sends it. */
export type SendOptions = {
  once?: OpenOnce | undefined
  share?: number | undefined
  address?: string | undefined
}

export class OpenMail {
  readonly #context: HubContext
  readonly #agents: Agents
  readonly #letters: Buckets
  readonly #bytes: Buckets
  /** Payloads of letters, on their way in and in files. */
  readonly files: LetterFiles

  constructor(context: HubContext, agents: Agents) {
    this.#context = context
    this.#agents = agents
    const { mailboxEnvelopesMax, openMailBytesMax } = context.limits
    const shareOf = (name: RateName, all: number): Buckets => {
      const burst = Math.ceil(all * ADDRESS_SHARE)
      return context.memory.rates.of(name, { burst, perSecond: burst / ADDRESS_REFILLS_SECONDS })
    }
    this.#letters = shareOf('letters of an address', mailboxEnvelopesMax)
    this.#bytes = shareOf('bytes of an address', openMailBytesMax / KIB)
    this.files = new LetterFiles(context)
  }

  /** The agent of an AID whose mail is open and that is registered here now, with its mailbox. */
  async find(aid: string): Promise<{ agent: Agent; box: OpenMailbox } | undefined> {
    const found = await this.findReader(aid)
    return found?.agent.row.mail === 'open' ? found : undefined
  }

  /** The same, also of one that moved on to sealed mail: what came before that is still its own. */
  async findReader(aid: string): Promise<{ agent: Agent; box: OpenMailbox } | undefined> {
    const agent = await this.#agents.findRegistered(aid)
    const box = agent && (await this.#context.store.openMailbox(agent.row.number))
    return agent && box && { agent, box }
  }

  liveness({ polledMs }: Pick<OpenMailbox, 'polledMs'>): Liveness {
    if (polledMs === undefined) return 'unknown'
    const agoMs = this.#context.now() - polledMs
    if (agoMs > ABANDONED_AFTER_MS) return 'abandoned'
    return agoMs > QUIET_AFTER_MS ? 'quiet' : 'awake'
  }

  /**
   * Queues a message for an agent here; whoever has its payload lets that go afterwards. Refuses a recipient that is not. `once`: nothing is queued for a repeat; `share`: how
   * much of each room it may fill. Of one that the operator keeps to named senders only that is held against a message which
   * it says itself: nobody signs it.
   */
  async send(
    { to, payload, ofVisitor, ...given }: GivenMessage,
    { once, share = 1, address }: SendOptions = {},
  ): Promise<{ id: string; quiet: boolean; isRepeat: boolean }> {
    const found = await this.find(to)
    if (found === undefined) throw new Refusal('recipientUnknown')
    const { random, store, now, limits } = this.#context
    const official = await store.official(to)
    if (ofVisitor !== true && official?.senders?.includes(given.from) === false)
      throw new Refusal('senderUnwanted')
    await this.#countLetter(found.box, payload, address)
    const id = toBase64url(random(ID_BYTES))
    const { outcome } = await store.sendOpen({
      ...given,
      ...{ mailbox: found.box.number, id, nowMs: now(), once },
      ...{ size: payload.size, content: payload.content, file: payload.file },
      limits: {
        messagesMax: Math.ceil(limits.mailboxEnvelopesMax * share),
        bytesMax: limits.mailboxBytesMax * share,
        totalBytesMax: limits.openMailBytesMax * share,
        tasksMax: TASKS_REMEMBERED_MAX,
      },
    })
    if (outcome === 'noMailbox') throw new Refusal('recipientUnknown')
    const isRepeat = outcome === 'repeated'
    if (outcome !== 'queued' && !isRepeat) throw withoutRoom('more mail of this kind')
    return { id, quiet: this.#isQuiet(found.box), isRepeat }
  }

  /** Nobody fills the mailbox of an agent that is away, or the room of all open mail, from one address. */
  async #countLetter(
    { number }: OpenMailbox,
    { size }: Pick<Payload, 'size'>,
    address: string | undefined,
  ): Promise<void> {
    if (address === undefined || isProxy(address)) return
    const from = addressBucket(address)
    const nowMs = this.#context.now()
    const burst = Math.ceil((this.#context.limits.openMailBytesMax / KIB) * ADDRESS_SHARE)
    const waitMs =
      (await this.#letters.take(`${from} ${number}`, nowMs)) ||
      (await this.#bytes.take(from, nowMs, Math.min(Math.ceil(size / KIB), burst)))
    if (waitMs > 0)
      throw new Refusal('rateLimited', { why: 'it comes from one address', retryAfterMs: waitMs })
  }

  #isQuiet(box: OpenMailbox): boolean {
    const state = this.liveness(box)
    return state === 'quiet' || state === 'abandoned'
  }

  /** What waits for an agent, the oldest first. That it asked is noted; failing to note it fails nothing. */
  async poll({ row }: Agent, limit = 0): Promise<OpenMessage[]> {
    const { store } = this.#context
    const messages = await store.pollOpen({
      mailbox: row.number,
      limit: limit <= 0 ? POLL_MESSAGES_DEFAULT : Math.min(limit, POLL_MESSAGES_MAX),
      bytesMax: POLL_BYTES_MAX,
    })
    await this.#notePolled(row.number)
    return messages
  }

  /** By id, payloads of messages that wait and lie in no file. */
  contents({ row }: Agent, ids: readonly string[]): Promise<ReadonlyMap<string, Uint8Array>> {
    return this.#context.store.openContents({ mailbox: row.number, ids })
  }

  /** Written once a minute at most. */
  async #notePolled(number: number): Promise<void> {
    const { store, now } = this.#context
    const { polledMs = Number.NEGATIVE_INFINITY } = (await store.openMailbox(number)) ?? {}
    const nowMs = now()
    if (nowMs >= polledMs && nowMs - polledMs < POLL_NOTED_EVERY_MS) return
    await store.notePolled({ number, nowMs }).catch(() => undefined)
  }

  /** Removes what an agent has; tells how much of it was there. */
  async ack({ row }: Agent, ids: readonly string[]): Promise<number> {
    if (ids.length === 0) return 0
    const { store, openBlobs } = this.#context
    const { acked, files } = await store.ackOpen({ mailbox: row.number, ids })
    await openBlobs.remove(files)
    return acked
  }

  /** Deletes the mail of agents that left long ago, at most `limit` messages; whether there is more. */
  async sweep(limit: number): Promise<boolean> {
    const { store, openBlobs, now } = this.#context
    const { files, more } = await store.sweepOpen({ leftBeforeMs: now() - LEFT_MAIL_MS, limit })
    await openBlobs.remove(files)
    return more
  }
}
