/** Committing what this node sends on its user's order: delegations and messages, once for each idempotency key. */
import { resolve } from 'node:path'
import { DOCUMENT_BYTES_MAX } from '../../protocol/contract/limits.ts'
import type { RequestOf } from '../../protocol/contract/route.ts'
import { WORDS_BYTES_MAX } from '../../protocol/control/bounds.ts'
import type { Operations } from '../../protocol/control/operations.ts'
import { cidText } from '../../protocol/crypto/hash.ts'
import { fromBase64url, utf8 } from '../../protocol/encoding/bytes.ts'
import type { Attachment } from '../../protocol/mail/message.ts'
import { encodePayload, kinds, type Payload } from '../../protocol/mail/payload.ts'
import { documentBytes, documentCid, type RequestDocument } from '../../protocol/proof/documents.ts'
import { requesterCommitment } from '../../protocol/proof/receipt.ts'
import type { Attachments } from '../attachments/attachments.ts'
import type { Chain } from '../chain/chain.ts'
import type { CurrentHub } from '../hubs/current.ts'
import type { Identity } from '../identity/identity.ts'
import type { GivenTask } from '../payments/as-given.ts'
import type { PricedAnswers } from '../payments/priced-tasks.ts'
import type { Contacts } from '../peers/contacts.ts'
import type { Machine } from '../platform/machine.ts'
import { refuse } from '../refusal.ts'
import type { Store } from '../store/open.ts'
import { orderPayment } from '../store/quotes.ts'
import { type Interaction, type Message, newInteractionId, type Threads } from '../store/threads.ts'
import type { Batches } from './batches.ts'
import { say } from './conversation.ts'
import { AS_A_FILE, textMessage } from './messages.ts'
import type { Once } from './once.ts'

const PREVIEW_CHARACTERS = 200
/** A task or the arguments of a call with what stands around them; words, which may go with a long history. */
const TASK_KIB_MAX = DOCUMENT_BYTES_MAX / 1024
const WORDS_KIB_MAX = WORDS_BYTES_MAX / 1024

const isNothing = (text: string, attachments: readonly Attachment[]): boolean =>
  text.trim() === '' && attachments.length === 0

type Paying = Pick<Payload<0>, 'paySalt' | 'authorization'>

export type DelegateRequest = NonNullable<RequestOf<Operations['delegate']>>

type CommitParts = {
  identity: Identity
  hub: CurrentHub
  chain: Chain
  threads: Threads
  batches: Batches
}

/** Tasks for others, as they are committed. */
export class CommittedTasks {
  readonly #parts: CommitParts
  readonly #random: Machine['random']

  constructor(parts: CommitParts, random: Machine['random']) {
    this.#parts = parts
    this.#random = random
  }

  /** Commits a task, with what `pay` gives for it; runs inside the transaction of the caller. */
  commit(
    { peer, document, text, capability, attachments }: GivenTask,
    pay?: (task: Interaction) => Paying,
  ): Interaction {
    const { identity, hub, chain, threads, batches } = this.#parts
    const id = newInteractionId(this.#random)
    const rsalt = this.#random(32)
    const requesterCommit = requesterCommitment(identity.aid, fromBase64url(id), rsalt)
    const requestCid = documentCid(document)
    const created = threads.create({
      id,
      delegator: identity.aid,
      peer,
      side: 'sent',
      state: 'queued',
      way: hub.last !== undefined && hub.last.mail === undefined ? 'open' : 'sealed',
      capability,
      preview: text.slice(0, PREVIEW_CHARACTERS),
      commitment: requesterCommit,
      rsalt,
      requestCid,
    })
    chain.append('svc.delegation.sent', {
      interaction_id: id,
      provider_aid: peer,
      request_cid: requestCid,
      capability: capability ?? undefined,
    })
    const payload = { document, requesterCommitment: requesterCommit, ...pay?.(created) }
    const [first, ...rest] = batches.of(peer, attachments)
    let { interaction } = threads.queue(created, {
      kind: kinds.delegate,
      payload: encodePayload(kinds.delegate, payload),
      text,
      numbered: true,
      attachments: first ?? [],
    })
    for (const batch of rest) ({ interaction } = threads.queue(interaction, textMessage('', batch)))
    return interaction
  }
}

type DelegationParts = {
  identity: Identity
  contacts: Contacts
  attachments: Attachments
  store: Store
  committed: CommittedTasks
  once: Once
}

export class Delegation {
  readonly #parts: DelegationParts

  constructor(parts: DelegationParts) {
    this.#parts = parts
  }

  /** Commits a delegation; with an idempotency key the same content is committed once. */
  delegate(given: DelegateRequest): string {
    const { identity, contacts, store, committed, once } = this.#parts
    const peer = contacts.resolve(given.to) ?? refuse('unknown_peer', `"${given.to}" is not a contact`)
    if (peer === identity.aid) refuse('bad_request', 'a task cannot be delegated to this node itself')
    const attachments = (given.attach ?? []).map(path => this.#parts.attachments.take(resolve(path)))
    const { task = '', capability, args = {} } = given
    const document: RequestDocument =
      capability === undefined
        ? { task, attachments: attachments.map(({ name, cid }) => ({ name, cid: cidText(cid) })) }
        : { capability, args }
    const bytes = documentBytes(document)
    if (bytes.length > TASK_KIB_MAX * 1024)
      refuse('too_large', `the task is larger than the ${TASK_KIB_MAX} KiB that one message takes`)
    if (capability === undefined && isNothing(task, attachments))
      refuse('bad_request', 'the task is empty: say what is to be done, or attach a file')
    return once.commit(given.idempotency_key, 'delegate', { peer, document }, () => {
      const text = capability === undefined ? task : `${capability} ${JSON.stringify(args)}`
      const delegated = committed.commit({
        peer,
        document: bytes,
        text,
        capability: capability ?? null,
        attachments,
      })
      if (given.pay === true) orderPayment(store, delegated.key, given.pay_as ?? 'person', given.max_credits)
      return delegated.id
    })
  }
}

type WordParts = {
  threads: Threads
  attachments: Attachments
  answers: PricedAnswers
  batches: Batches
  once: Once
}

export type GivenWords = { text: string; attach: readonly string[]; key: string | undefined }

export class SentWords {
  readonly #parts: WordParts

  constructor(parts: WordParts) {
    this.#parts = parts
  }

  /** Commits words and files; with an idempotency key the same content is committed once. */
  send(interaction: Interaction, given: GivenWords): Message {
    const { threads, answers, batches, once } = this.#parts
    const attachments = given.attach.map(path => this.#parts.attachments.take(resolve(path)))
    if (utf8(given.text).length > WORDS_KIB_MAX * 1024)
      refuse(
        'too_large',
        `the text is larger than the ${WORDS_KIB_MAX} KiB that one message takes`,
        AS_A_FILE,
      )
    if (isNothing(given.text, attachments))
      refuse('bad_request', 'the message is empty: say something, or attach a file')
    const content = {
      id: interaction.id,
      text: given.text,
      files: attachments.map(({ cid }) => cidText(cid)),
    }
    const key = once.commit(given.key, 'message', content, () => {
      const [first, ...rest] = batches.of(interaction.peer, attachments)
      let said = say(answers, threads.byKey(interaction.key), textMessage(given.text, first ?? []))
      const { message } = said
      for (const batch of rest) said = say(answers, said.interaction, textMessage('', batch))
      return String(message.key)
    })
    return threads.message(Number(key))
  }
}
