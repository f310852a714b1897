/**
 * Which messages of the other side somebody holds (objects: numbers held): asked by a node that was restored, before it
 * numbers anything again; answered with digests, because a number alone may stand for another message by now.
 */
import { CID_BYTES, isContentId } from '../crypto/hash.ts'
import { equal, Malformed } from '../encoding/bytes.ts'
import {
  bool,
  bytes,
  checked,
  type Field,
  type Infer,
  list,
  mapped,
  optional,
  type RecordCodec,
  record,
  required,
  tuple,
  uint,
} from '../encoding/record.ts'
import { MESSAGES_MAX } from '../proof/receipt.ts'

const ID_BYTES = 16
const DIGEST_BYTES = 32
/** Interactions in one question. */
export const ASKED_MAX = 64
/** Digests of one interaction in an answer at most, the newest ones, objects §7. */
export const DIGESTS_MAX = 256
/** Digests of all interactions in one answer at most, objects §7. */
export const DIGESTS_OF_ALL_MAX = 4096
/** Interactions that are only named. */
export const NAMED_MAX = 256

const id = bytes(ID_BYTES)
const bounded = (count: number): number => {
  if (count > MESSAGES_MAX) throw new Malformed(`a message number is above ${MESSAGES_MAX}`)
  return count
}
const number: Field<number> = mapped(uint, bounded, bounded)
const contentId = (bytes: Uint8Array): Uint8Array => {
  if (!isContentId(bytes)) throw new Malformed('the id of a payment is no content id')
  return bytes
}
const cid: Field<Uint8Array> = mapped(bytes(CID_BYTES), contentId, contentId)

const held = record('numbers of an interaction', {
  interactionId: required(1, id),
  /** The highest number of the asker that is held; 0: none. */
  highest: required(2, number),
  /** Numbers above the one asked from, with their digests; ascending. */
  digests: required(3, list(tuple<[number, Uint8Array]>(number, bytes(DIGEST_BYTES)), DIGESTS_MAX)),
  /** The last message of the asker in the transcript, where it is held, and whether that one proposed the end. */
  last: optional(4, tuple<[number, boolean]>(number, bool)),
})
/** Ids of 16 bytes, digests of 32; what the answer holds of one interaction (objects §7). */
export type HeldNumbers = Infer<typeof held>

const delegated = record('task of the asker', {
  interactionId: required(1, id),
  /** When the sender got it, by its own clock. */
  atMs: required(2, uint),
  /** What was signed for it: the id of the payment. */
  payment: optional(3, cid),
})
/** `interactionId` of 16 bytes, `atMs` in Unix milliseconds, `payment` of 36 bytes (objects §7). */
export type DelegatedTask = Infer<typeof delegated>

const all = record('numbers held', {
  /** Time of the archive from which the asker was restored; 0 where it does not know it. */
  restoredAtMs: optional(1, uint),
  /** Of these the answer names what is held above `after`. */
  asks: optional(
    2,
    list(
      record('number asked', {
        interactionId: required(1, id),
        after: required(2, number),
        /** Every number of the reader up to this one is here; what comes after it is sent again. */
        held: required(3, number),
      }),
      ASKED_MAX,
      1,
    ),
  ),
  /** Message id of the question. */
  answers: optional(3, id),
  holds: optional(4, list(held, ASKED_MAX)),
  /** Interactions with the asker in which something happened since that archive. */
  since: optional(5, list(id, NAMED_MAX)),
  /** Interactions with the reader that the sender no longer has. */
  lost: optional(6, list(id, NAMED_MAX, 1)),
  /** Those of `since` that the asker had delegated. */
  delegated: optional(7, list(delegated, NAMED_MAX, 1)),
})
/** Kind 12, objects §7; `restoredAtMs` in Unix milliseconds. */
export type Numbers = Infer<typeof all>

/** A question (1, 2?), an answer (3, 4, 5, 7?) or what was lost (6). */
export const Numbers: RecordCodec<Numbers> = checked(all, numbers => {
  const { restoredAtMs, asks, answers, holds, since, lost } = numbers
  const isQuestion = restoredAtMs !== undefined
  const isAnswer = answers !== undefined && holds !== undefined && since !== undefined
  const isLoss = lost !== undefined
  const isPart = !isAnswer && (answers !== undefined || holds !== undefined || since !== undefined)
  if (isPart || (asks !== undefined && !isQuestion)) throw new Malformed('numbers held lack a member')
  if ([isQuestion, isAnswer, isLoss].filter(Boolean).length !== 1)
    throw new Malformed('numbers held must be a question, an answer or a loss')
  requireHeld(holds ?? [])
  requireNamed(numbers)
})

function requireHeld(holds: readonly HeldNumbers[]): void {
  for (const { highest, digests, last } of holds) {
    const listed = digests.map(([number]) => number)
    if (listed.some((number, i) => number <= (listed[i - 1] ?? 0) || number > highest))
      throw new Malformed('numbers held must ascend from 1 to the highest')
    if (last !== undefined && (last[0] === 0 || last[0] > highest))
      throw new Malformed('the last message of an interaction must be one that is held')
  }
}

function requireNamed({ since = [], delegated = [] }: Numbers): void {
  if (!delegated.every(task => since.some(one => equal(one, task.interactionId))))
    throw new Malformed('a task of the asker must be one in which something happened since')
}
