/**
 * Taking in one verified message: who may say what, in which order, and what it changes. The verdict is the code of
 * the delivery confirmation. Everything happens in one transaction with its evidence.
 */

import { equal, Malformed } from '../../protocol/encoding/bytes.ts'
import { isLoose, type MessageBody, messagePayload } from '../../protocol/mail/message.ts'
import { type AnyPayload, kinds } from '../../protocol/mail/payload.ts'
import type { Arrived } from '../carrier/carrier.ts'
import type { Contacts } from '../peers/contacts.ts'
import { count } from '../store/counters.ts'
import { digestOf } from '../store/messages.ts'
import type { Store } from '../store/open.ts'
import { noteVerdict, type Verdict, verdictOn } from '../store/seen.ts'
import type { ReturnedHeads } from './heads.ts'
import { isNumbered } from './kinds.ts'
import type { LooseMail } from './loose-mail.ts'
import { ForeignStep, type TaskMail } from './task-mail.ts'

/** How long after its expiry a message id is still remembered. */
const SEEN_AFTER_EXPIRY_MS = 26 * 3_600_000

/** The verdict on this very message before, if it is known. */
export function earlierVerdict(store: Store, body: MessageBody, digest: Uint8Array): Verdict | undefined {
  const stored = digestOf(store, body.from, body.messageId)
  if (stored !== undefined) return equal(stored, digest) ? 'stored' : 'malformed'
  return verdictOn(store, body.from, body.messageId)
}

type ReceivingParts = {
  store: Store
  contacts: Contacts
  loose: LooseMail
  ofTasks: TaskMail
  heads: ReturnedHeads
  topUps: { note(peer: string): void }
}

export class Receiving {
  readonly #parts: ReceivingParts

  constructor(parts: ReceivingParts) {
    this.#parts = parts
  }

  /** Judges and stores a message; durable when this returns. */
  takeIn(arrived: Arrived): Verdict {
    const verdict = judged(() => this.#decide(arrived, () => this.#judge(arrived)))
    return verdict ?? this.#decide(arrived, () => 'malformed')
  }

  /** What {@link takeIn} would say now, before anything of the message is on the disk. */
  foresee(arrived: Arrived): Verdict {
    return judged(() => this.#parts.store.rehearse(() => this.#judge(arrived))) ?? 'malformed'
  }

  #decide(arrived: Arrived, verdict: () => Verdict): Verdict {
    const { store } = this.#parts
    return store.transaction(() => {
      const { body, digest } = arrived
      arrived.credentials.came()
      // asked again: while its files came, the same message may have been taken from another mailbox
      const given = earlierVerdict(store, body, digest) ?? verdict()
      if (this.#isForGood(body, given))
        noteVerdict(store, {
          sender: body.from,
          messageId: body.messageId,
          verdict: given,
          until: arrived.untilMs + SEEN_AFTER_EXPIRY_MS,
        })
      return given
    }, 'node.receive')
  }

  /**
   * Whether the same message would be judged so again: not where its sender mends it, where its task may still come, or where
   * it is outside of the transcript and came before the end of a task that was restored.
   */
  #isForGood(body: MessageBody, code: Verdict): boolean {
    if (code === 'retiredKey' || code === 'times') return false
    if (code !== 'malformed' || body.interactionId === undefined || body.kind === kinds.delegate) return true
    return isNumbered(body.kind) && this.#parts.ofTasks.knowsTaskOf(body)
  }

  #judge(arrived: Arrived): Verdict {
    const { store, contacts, loose, ofTasks, heads, topUps } = this.#parts
    const { body } = arrived
    if (contacts.isBlocked(body.from)) return 'refusedByPolicy'
    let message: AnyPayload
    try {
      message = messagePayload(body)
    } catch (error) {
      if (error instanceof Malformed) return 'malformed'
      throw error
    }
    const code = (isLoose(message.kind) ? loose : ofTasks).take(arrived, message)
    if (code === 'stored') {
      arrived.credentials.taken()
      store.afterCommit(() => topUps.note(body.from))
    } else if (code === 'malformed') count(store, 'foreign')
    heads.giveBack(body.from)
    return code
  }
}

/** A verdict; undefined where the message, or the step that it takes, is none. */
function judged(verdict: () => Verdict): Verdict | undefined {
  try {
    return verdict()
  } catch (error) {
    if (error instanceof ForeignStep || error instanceof Malformed) return undefined
    throw error
  }
}
