/** Tickets to the console: each opens it once, within a minute. One has 192 bits, and is traded by what it is called. */
import { ticketName } from '../../protocol/control/page-key.ts'
import { toBase64url } from '../../protocol/encoding/bytes.ts'
import { Once } from './once.ts'

const TICKET_BYTES = 24

export class Tickets extends Once {
  constructor(now: () => number, random: (length: number) => Uint8Array) {
    super(now, () => toBase64url(random(TICKET_BYTES)))
  }

  /** The open ticket that is called so. */
  called(name: string): string | undefined {
    return this.open().find(ticket => ticketName(ticket) === name)
  }
}
