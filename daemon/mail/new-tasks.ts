/** Tasks that others give this node. Inside the transaction that judges them. */
import type { AnyPayload } from '../../protocol/mail/payload.ts'
import { documentCid } from '../../protocol/proof/documents.ts'
import type { Arrived } from '../carrier/carrier.ts'
import type { PeerBook } from '../peers/peers.ts'
import { dropLost } from '../store/lost.ts'
import type { Store } from '../store/open.ts'
import type { Verdict } from '../store/seen.ts'
import type { Threads } from '../store/threads.ts'
import type { Dispatch } from '../tasks/dispatch.ts'
import type { TaskNews } from '../tasks/news.ts'
import type { Admissions } from '../tasks/policies.ts'
import { bytesOf } from './kinds.ts'
import { requestOf } from './reading.ts'

const PREVIEW_CHARACTERS = 200

type NewTaskParts = {
  store: Store
  threads: Threads
  peers: PeerBook
  admissions: Admissions
  dispatch: Dispatch
  news: TaskNews
}

export class NewTasks {
  readonly #parts: NewTaskParts

  constructor(parts: NewTaskParts) {
    this.#parts = parts
  }

  take(arrived: Arrived, payload: Extract<AnyPayload, { kind: 0 }>['payload'], id: string): Verdict {
    const { store, threads, peers, admissions, dispatch, news } = this.#parts
    const { body } = arrived
    // Users name an interaction by its id alone, so an id that anyone else's interaction has is refused too.
    if (threads.findById(id) !== undefined) return 'malformed'
    const document = requestOf(payload.document, body)
    if (document === undefined) return 'malformed'
    const capability = 'capability' in document ? document.capability : null
    const answering = dispatch.answeringOf(capability)
    const admission = admissions.admit(body.from, bytesOf(body))
    if (admission === 'refused') return 'refusedByPolicy'
    const text =
      'task' in document ? document.task : `${document.capability} ${JSON.stringify(document.args)}`
    // a price is no work: it is told without asking the owner
    const asksForPrice = answering.price !== undefined && payload.authorization === undefined
    const created = threads.create({
      id,
      delegator: body.from,
      peer: body.from,
      side: 'received',
      state: answering.by === 'nobody' || asksForPrice ? 'open' : admission,
      way: arrived.way,
      capability,
      preview: text.slice(0, PREVIEW_CHARACTERS),
      commitment: payload.requesterCommitment,
      requestCid: documentCid(payload.document),
    })
    const { interaction } = threads.storeIncoming(created, body, { digest: arrived.digest, text })
    news.step(created)
    peers.learn(arrived.log, arrived.keySet)
    dropLost(store, id)
    dispatch.handOver(interaction, answering)
    return 'stored'
  }
}
