/** Who takes what a carrier brings: judged by its words first, so that what is refused leaves no file. */
import { Malformed } from '../../protocol/encoding/bytes.ts'
import { Damaged } from '../../protocol/mail/open.ts'
import type { Attachments } from '../attachments/attachments.ts'
import type { Arrived, ArrivingFiles, Taker } from '../carrier/carrier.ts'
import type { PeerBook } from '../peers/peers.ts'
import type { Store } from '../store/open.ts'
import type { Verdict } from '../store/seen.ts'
import { earlierVerdict, type Receiving } from './receive.ts'
import type { RetiredWords } from './retired.ts'

type TakerParts = {
  store: Store
  peers: PeerBook
  attachments: Attachments
  receiving: Receiving
  retired: RetiredWords
}

export class MailTaker implements Taker {
  readonly #parts: TakerParts

  constructor(parts: TakerParts) {
    this.#parts = parts
  }

  earlier({ body, digest, log, keySet }: Arrived): Verdict | undefined {
    const { store, peers } = this.#parts
    const verdict = earlierVerdict(store, body, digest)
    if (verdict === 'stored' && keySet !== undefined) peers.learn(log, keySet)
    return verdict
  }

  showRetired({ body, digest }: Arrived): void {
    this.#parts.retired.keep(body, digest)
  }

  /** A message without files is judged once, with its content. */
  async take(arrived: Arrived, files: ArrivingFiles): Promise<Verdict> {
    const { store, attachments, receiving } = this.#parts
    const takeIn = () => receiving.takeIn(arrived)
    if (arrived.body.attachments.length > 0 && receiving.foresee(arrived) !== 'stored') return takeIn()
    try {
      return await attachments.receive(files, store, takeIn)
    } catch (error) {
      if (error instanceof Malformed && !(error instanceof Damaged)) return 'malformed'
      throw error
    }
  }
}
