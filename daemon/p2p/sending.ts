/**
 * Letters that go past the hub: to contacts alone, and only where the owner said so, since whoever is called learns the address
 * of this machine. What nobody signed for goes by the hub, and its recipient takes it once.
 */
import type { Logger } from 'pino'
import { LETTER_BYTES_MAX } from '../../protocol/contract/letter.ts'
import { toBase64 } from '../../protocol/encoding/bytes.ts'
import type { VerifiedKel } from '../../protocol/identity/kel.ts'
import type { Timers } from '../../protocol/timers.ts'
import type { HubClient } from '../hubs/hub.ts'
import type { OpenLetter } from '../hubs/open-mail.ts'
import type { WrittenLetter } from '../open/letters.ts'
import { logAt } from '../open/logs.ts'
import type { PeerBook } from '../peers/peers.ts'
import { faultPoint } from '../platform/faults.ts'
import type { OutboxEntry } from '../store/outbox.ts'
import { PeerAddresses } from './addresses.ts'
import { type callDirectly, NotDelivered, sayNotDelivered } from './call.ts'
import { isConfirmed } from './confirmations.ts'
import { type MayGoParts, mayGo } from './may-go.ts'
import { UnderWay } from './under-way.ts'

type SendingParts = MayGoParts & { peers: PeerBook; call: typeof callDirectly }
type SendingMachine = { timers: Timers; log: Logger; ending: AbortSignal }

type Tried = { written: WrittenLetter; entry: OutboxEntry; address: string }

export class DirectSending {
  readonly #parts: SendingParts
  readonly #machine: SendingMachine
  readonly #addresses: PeerAddresses
  readonly #underWay = new UnderWay()

  constructor(parts: SendingParts, machine: SendingMachine) {
    this.#parts = parts
    this.#machine = machine
    this.#addresses = new PeerAddresses(machine.timers)
  }

  /** Whether the recipient signed that it has the letter; false where it was not tried, or nobody signed. */
  async send(hub: HubClient, written: WrittenLetter, entry: OutboxEntry): Promise<boolean> {
    const isLong = written.letter.payload.length > LETTER_BYTES_MAX
    if (hub.direct === undefined || isLong || !mayGo(this.#parts, entry)) return false
    const address = await this.#addresses.of(hub, entry.peer)
    if (address === undefined) return false
    return (await this.#underWay.do(entry.peer, () => this.#tried(hub, { written, entry, address }))) ?? false
  }

  async #tried(hub: HubClient, { written, entry, address }: Tried): Promise<boolean> {
    try {
      const { body, letter } = written
      const log = await this.#logOf(hub, entry.peer)
      faultPoint('node.direct.before-call')
      const confirmation = await this.#call(address, letter)
      faultPoint('node.direct.after-call')
      if (log !== undefined && isConfirmed(log, { body, payload: letter.payload }, confirmation)) return true
      throw new NotDelivered('who answers there is not the recipient')
    } catch (error) {
      this.#addresses.rest(entry.peer)
      sayNotDelivered(this.#machine.log, entry, error)
      return false
    }
  }

  /** Of somebody who was never heard of, as the hub shows it. */
  async #logOf(hub: HubClient, aid: string): Promise<VerifiedKel | undefined> {
    const { peers } = this.#parts
    const held = peers.find(aid)?.log
    if (held !== undefined) return held
    const shown = await logAt(hub, aid)
    return shown && peers.learn(peers.merge(aid, shown), undefined).log
  }

  #call(address: string, { to, from, kind, interaction, payload }: OpenLetter): Promise<Uint8Array> {
    const { timers, ending: signal } = this.#machine
    return this.#parts.call({
      ...{ address, timers, signal, hosts: this.#parts.settings.current.p2p?.hosts ?? [] },
      letter: {
        ...{ to_aid: to, from_aid: from, kind },
        ...{ interaction_id: interaction, payload: toBase64(payload) },
      },
    })
  }
}
