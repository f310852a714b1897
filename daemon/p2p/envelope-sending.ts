/**
 * Sealed envelopes that go past the hub, to contacts that said where: the same envelope goes by the hub where nobody answers in
 * time, so that whoever has both takes it once, and neither shows later which way it came.
 */
import type { Logger } from 'pino'
import { DIRECT_ENVELOPE_BYTES_MAX } from '../../protocol/contract/direct.ts'
import { concat } from '../../protocol/encoding/bytes.ts'
import type { Timers } from '../../protocol/timers.ts'
import type { Delivery } from '../hubs/hub.ts'
import { faultPoint } from '../platform/faults.ts'
import { addressOf } from '../store/direct.ts'
import type { OutboxEntry } from '../store/outbox.ts'
import { type callWithEnvelope, NotDelivered, sayNotDelivered } from './call.ts'
import { type MayGoParts, mayGo } from './may-go.ts'
import { Rests } from './rests.ts'
import { UnderWay } from './under-way.ts'

type SendingParts = MayGoParts & { call: typeof callWithEnvelope }
type SendingMachine = { timers: Timers; log: Logger; ending: AbortSignal }

type Called<T> = Pick<Delivery, 'content'> & {
  address: string
  judge: (answered: Uint8Array) => T | undefined
}

export class EnvelopeSending {
  readonly #parts: SendingParts
  readonly #machine: SendingMachine
  readonly #rests: Rests
  readonly #underWay = new UnderWay()

  constructor(parts: SendingParts, machine: SendingMachine) {
    this.#parts = parts
    this.#machine = machine
    this.#rests = new Rests(machine.timers)
  }

  /** What `judge` found in the answer; undefined where it was not tried, nobody answered, or it found nothing. */
  async send<T>(
    entry: OutboxEntry,
    { credential, size, content }: Delivery,
    judge: (answered: Uint8Array) => T | undefined,
  ): Promise<T | undefined> {
    // a first contact shows nothing by which its recipient could judge it: that is the hub's
    const isForHub = credential === 'session' || size > DIRECT_ENVELOPE_BYTES_MAX
    if (isForHub || !mayGo(this.#parts, entry)) return undefined
    const address = addressOf(this.#parts.store, entry.peer)
    if (address === undefined || this.#rests.includes(entry.peer, address)) return undefined
    return await this.#underWay.do(entry.peer, async () => {
      try {
        return await this.#called({ address, content, judge })
      } catch (error) {
        this.#rests.begin(entry.peer, address)
        sayNotDelivered(this.#machine.log, entry, error)
        return undefined
      }
    })
  }

  async #called<T>({ address, content, judge }: Called<T>): Promise<T> {
    const envelope = await bytesOf(content())
    faultPoint('node.direct.before-call')
    const { timers, ending: signal } = this.#machine
    const hosts = this.#parts.settings.current.p2p?.hosts ?? []
    const answered = await this.#parts.call({ address, envelope, hosts, timers, signal })
    faultPoint('node.direct.after-call')
    const found = judge(answered)
    if (found === undefined) throw new NotDelivered('who answers there is not the recipient')
    return found
  }
}

async function bytesOf(content: ReturnType<Delivery['content']>): Promise<Uint8Array> {
  const parts: Uint8Array[] = []
  for await (const part of content) parts.push(part.slice())
  return concat(...parts)
}
