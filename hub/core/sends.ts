/**
 * Taking an envelope in (hub API §4.1): everything that its head and headers decide comes first, then its content is
 * read and kept, then it is queued. Nothing of a refused one stays.
 */
import { dirname } from 'node:path'
import { present } from '../../protocol/encoding/present.ts'
import { type HeadFault, headFault } from '../../protocol/mail/admission.ts'
import { StoreAway, StoreFull } from '../store/port.ts'
import type { HubContext } from './context.ts'
import type { DestinationKind, Destinations, Offer, Sent, Taking } from './destination.ts'
import { type ByteSource, type EnvelopeBody, readEnvelopeHead } from './envelope-body.ts'
import { INLINE_BYTES_MAX } from './limits.ts'
import { Refusal, withoutRoom } from './refusal.ts'
import { RoomWatch } from './room-watch.ts'

/** So much free space takes mail again; the largest envelopes need more. */
const ROOM_FOR_FILES_BYTES = 16 * 1024 * 1024
/** Rows of a large inline envelope, with what indexes and tombstones add. */
const ROOM_FOR_ROWS_BYTES = 4 * INLINE_BYTES_MAX

const MEND_ELSEWHERE =
  'free some room on the disk of the database, or where long mail lies; the hub takes mail again at once'

const refusalOf: Record<HeadFault, () => Refusal> = {
  other_access: () =>
    new Refusal('envelopeMalformed', { why: 'its key 7 differs from the credential sent with it' }),
  expired: () => new Refusal('expired'),
  expiry_too_far: () => new Refusal('expiryTooFar'),
}

/** What a sender shows, and where the envelope itself comes from. */
export type Submission = Pick<Offer, 'access' | 'accessBytes' | 'session' | 'from'> & {
  /** Among whom its recipient is looked for. */
  towards: Destinations
  source: ByteSource
  /** Length of the envelope where the sender said it beforehand. */
  declared: number | undefined
  /** Throws where the whole of what was read is not what its signer signed; before anything is taken. */
  confirm?: () => Promise<void>
}

export class Sends {
  readonly #context: HubContext
  readonly #kinds: readonly DestinationKind[]
  readonly #room: RoomWatch

  constructor(context: HubContext, kinds: readonly DestinationKind[]) {
    this.#context = context
    this.#kinds = kinds
    const { alert, now, timers } = context
    this.#room = new RoomWatch({
      alert,
      now,
      timers,
      hasRoom: () => this.#hasRoom(),
      facts: () => this.#shortage(),
    })
  }

  /** The destinations of a home hub as a sender names it; refuses one that this hub does not send to. */
  towards(home: string | undefined): Destinations {
    for (const kind of this.#kinds) {
      const destinations = kind.towards(home)
      if (destinations !== undefined) return destinations
    }
    throw new Refusal('recipientUnknown')
  }

  /** Takes one envelope, or says under which id the very same one waits already. */
  async send({ source, declared, towards, confirm, ...credential }: Submission): Promise<Sent> {
    const { limits } = this.#context
    const body = await readEnvelopeHead(source, declared)
    if (body.size > limits.envelopeBytesMax)
      throw new Refusal('tooLarge', { limitBytes: limits.envelopeBytesMax })
    const offer = { ...credential, head: body.head, digest: body.digest, size: body.size }
    this.#checkHead(offer)
    const destination = await towards.find(body.head.to)
    if (destination === undefined) throw new Refusal('recipientUnknown')
    const judged = await destination.judge(offer)
    if ('repeated' in judged) {
      if (confirm !== undefined) await body.skip()
      await confirm?.()
      return judged.repeated
    }
    source.accept(judged.taking.recipient)
    try {
      const sent = await this.#keep(judged.taking, body, confirm)
      this.#room.taken()
      return sent
    } catch (error) {
      if (!(error instanceof StoreFull)) throw error
      await this.#room.refused()
      throw withoutRoom('mail')
    }
  }

  /** What the head alone decides, wherever it goes. */
  #checkHead({ head, accessBytes }: Offer): void {
    const fault = headFault(head, accessBytes, this.#context.now())
    if (fault !== undefined) throw refusalOf[fault]()
  }

  /** Reads the content of an accepted envelope to where it goes, and has it taken there. */
  async #keep(taking: Taking, body: EnvelopeBody, confirm: Submission['confirm']): Promise<Sent> {
    const content = await body.read(taking.sink)
    let isKept = false
    try {
      await confirm?.()
      const sent = await taking.take(content)
      isKept = sent.status === 'queued'
      return sent
    } catch (error) {
      // its row may come to be written yet; a file that no row names goes later
      isKept = error instanceof StoreAway
      throw error
    } finally {
      if (!isKept) await taking.drop(content)
    }
  }

  /** Looks whether mail that was refused for want of room would be taken now. */
  async lookForRoom(): Promise<void> {
    await this.#room.look()
  }

  /** Mail is refused for want of room, although what makes room may still be written. */
  get isShortOfRoom(): boolean {
    return this.#room.isShort
  }

  close(): void {
    this.#room.close()
  }

  async #shortage(): Promise<Record<string, string | number>> {
    const { local } = this.#context.store
    if (local === undefined) return { mend: MEND_ELSEWHERE }
    const { disk, rows } = await local.room()
    const path = dirname(local.path)
    const isOfDisk = rows >= disk || disk < ROOM_FOR_FILES_BYTES
    const makeRoom = isOfDisk
      ? `free some room on the disk of ${path}`
      : 'raise limits.store_bytes and restart the hub'
    return {
      path,
      free_bytes: disk,
      ...present({ free_bytes_of_store: isOfDisk ? undefined : Math.max(0, rows) }),
      mend: `${makeRoom}, or wait until agents have collected mail; the hub takes mail again at once`,
    }
  }

  /** Whether mail would find room; the write shows what the figures don't. */
  async #hasRoom(): Promise<boolean> {
    const { store, now } = this.#context
    const room = await store.local?.room()
    if (room !== undefined && (room.disk < ROOM_FOR_FILES_BYTES || room.rows < ROOM_FOR_ROWS_BYTES))
      return false
    await store.putSetting('room seen', String(now()))
    return true
  }
}
