/**
 * Payloads of a poll, taken while they come. Anybody may send a letter of a gigabyte: one that is longer than this node reads
 * is not kept, and what is more than an answer should have waits for the next poll.
 */
import { ForeignAnswer } from '../../../protocol/contract/client.ts'
import { concat } from '../../../protocol/encoding/bytes.ts'
import type { TextTaker } from '../../../protocol/encoding/lifted-text.ts'

const MIB = 1024 * 1024
/** Bytes of a letter that this node writes and reads. */
export const LETTER_BYTES_MAX = 40 * MIB
/** Of all letters of one answer; a hub gives 48 MiB. */
const ANSWER_BYTES_MAX = 96 * MIB

type Taken = { pieces: Uint8Array[]; size: number; isLater: boolean; isSpoilt: boolean }
/** A message with its payload; undefined where it is longer than this node reads, or none. */
export type WithPayload<M> = { message: M; payload: Uint8Array | undefined }

export class Payloads {
  readonly #taken: Taken[] = []
  #bytes = 0

  /** Takes the next one. */
  open(): TextTaker {
    const taken: Taken = { pieces: [], size: 0, isLater: false, isSpoilt: false }
    this.#taken.push(taken)
    return {
      take: piece => this.#take(taken, piece),
      end: () => undefined,
      spoil: () => {
        taken.isSpoilt = true
        this.#drop(taken)
      },
    }
  }

  #take(taken: Taken, piece: Uint8Array): void {
    taken.size += piece.length
    if (taken.size <= LETTER_BYTES_MAX && !taken.isLater) {
      taken.pieces.push(piece)
      this.#bytes += piece.length
    }
    if (taken.size > LETTER_BYTES_MAX) this.#drop(taken)
    if (this.#bytes > ANSWER_BYTES_MAX) {
      taken.isLater = true
      this.#drop(taken)
    }
  }

  #drop({ pieces }: Taken): void {
    for (const { length } of pieces.splice(0)) this.#bytes -= length
  }

  /** Messages in the order of their payloads, but for what waits for the next poll. `hasOne`: whether a payload was taken of it. */
  with<M>(messages: readonly M[], hasOne: (message: M) => boolean): WithPayload<M>[] {
    if (messages.filter(hasOne).length !== this.#taken.length)
      throw new ForeignAnswer(200, 'the hub gave other payloads than messages')
    const inOrder = this.#taken.values()
    return messages.flatMap(message => {
      const taken = hasOne(message) ? inOrder.next().value : undefined
      if (taken === undefined) return [{ message, payload: undefined }]
      const { pieces, size, isLater, isSpoilt } = taken
      const isRead = size <= LETTER_BYTES_MAX && !isSpoilt
      if (isLater && isRead) return []
      return [{ message, payload: isRead ? concat(...pieces) : undefined }]
    })
  }
}
