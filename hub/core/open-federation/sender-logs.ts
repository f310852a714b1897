/**
 * Key histories of those whose letters came through a peer: who reads such a letter asks for one, and this hub asks that peer,
 * again after a while. Attacker: a peer that names any sender; whoever asks for histories without end.
 */
import { Malformed } from '../../../protocol/encoding/bytes.ts'
import { isAid } from '../../../protocol/identity/aid.ts'
import { decodeKel, KEL_BYTES_MAX, KelInvalid, verifyKel } from '../../../protocol/identity/kel.ts'
import type { HubContext } from '../context.ts'
import type { OpenPeerCalls } from './calls.ts'

const SENDERS_MAX = 10_000
const BYTES_MAX = 32 * 1024 * 1024
/** A peer is asked for that one again after so long: it gave none, or one without the newest key. */
const ASKED_EVERY_MS = 30_000

type Sender = { origin: string; kel?: Uint8Array | undefined; asked?: Promise<void>; askedMs?: number }

export class SenderLogs {
  readonly #context: HubContext
  readonly #calls: Pick<OpenPeerCalls, 'keyHistory'>
  /** By AID, the one that was named last at the end. */
  readonly #senders = new Map<string, Sender>()
  #bytes = 0

  constructor(context: HubContext, calls: Pick<OpenPeerCalls, 'keyHistory'>) {
    this.#context = context
    this.#calls = calls
  }

  /** A letter of this sender came from a peer; its key may be another one by now. */
  note(aid: string, origin: string): void {
    if (!isAid(aid)) return
    this.#drop(aid)
    this.#senders.set(aid, { origin })
    for (const oldest of this.#senders.keys()) {
      if (this.#senders.size <= SENDERS_MAX && this.#bytes <= BYTES_MAX) break
      this.#drop(oldest)
    }
  }

  /** The history as its peer shows it, verified; undefined where none came, or none that holds. */
  async find(aid: string): Promise<Uint8Array | undefined> {
    const sender = this.#senders.get(aid)
    if (sender === undefined) return undefined
    const { timers } = this.#context
    const isDue = timers.monotonic() - (sender.askedMs ?? Number.NEGATIVE_INFINITY) >= ASKED_EVERY_MS
    if (sender.asked === undefined && isDue) {
      sender.askedMs = timers.monotonic()
      sender.asked = this.#ask(aid, sender).finally(() => {
        delete sender.asked
      })
    }
    await sender.asked
    return sender.kel
  }

  async #ask(aid: string, sender: Sender): Promise<void> {
    const peer = this.#context.peers.find(sender.origin)
    const kel = peer && (await this.#calls.keyHistory(peer, aid))
    if (kel === undefined || !isOf(aid, kel) || this.#senders.get(aid) !== sender) return
    const heldBytes = sender.kel?.length ?? 0
    // a history only grows
    if (kel.length <= heldBytes) return
    sender.kel = kel
    this.#bytes += kel.length - heldBytes
  }

  #drop(aid: string): void {
    this.#bytes -= this.#senders.get(aid)?.kel?.length ?? 0
    this.#senders.delete(aid)
  }
}

function isOf(aid: string, kel: Uint8Array): boolean {
  try {
    return kel.length <= KEL_BYTES_MAX && verifyKel(decodeKel(kel)).aid === aid
  } catch (error) {
    if (error instanceof Malformed || error instanceof KelInvalid) return false
    throw error
  }
}
