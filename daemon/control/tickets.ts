/** Tickets to the console: each opens it once, within a minute. One has 192 bits, so that no look-up helps who guesses. */
import { toBase64url } from '../../protocol/encoding/bytes.ts'
import { Once } from './once.ts'

const TICKET_BYTES = 24

export class Tickets extends Once {
  constructor(now: () => number, random: (length: number) => Uint8Array) {
    super(now, () => toBase64url(random(TICKET_BYTES)))
  }
}
