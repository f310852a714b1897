/** Direct delivery between the two sides of a world: an address each, and a line to it that a test may break. */

import type { Carriers } from '../../daemon/carrier/carrier.ts'
import { carrierKinds, carriersOf } from '../../daemon/carriers.ts'
import type { Ground } from '../../daemon/context.ts'
import { takerOf } from '../../daemon/mail/open.ts'
import { openCarriers } from '../../daemon/open/open.ts'
import { type DirectCall, type EnvelopeCall, NotDelivered } from '../../daemon/p2p/call.ts'
import { module } from '../../daemon/p2p/direct.ts'
import { sealedCarriers } from '../../daemon/sealed/open.ts'
import { OPEN, SEALED } from '../../daemon/testing/scripted-hub.ts'
import { fromBase64 } from '../../protocol/encoding/bytes.ts'
import type { Side } from './side.ts'

type Line = 'open' | 'answers are lost' | 'somebody else answers'

export class DirectLines {
  /** What takes letters at an address; nobody where its process has ended. */
  readonly #takers = new Map<string, Side>()
  line: Line = 'open'
  /** Letters and envelopes that were confirmed. */
  confirmed = 0

  /** What carries the mail of a node: what goes directly goes over these lines. */
  carriersOf(ground: Ground): Carriers {
    const shortcuts = module?.shortcutsOf(ground, call => this.#call(call))
    const shortcut = module?.sealedShortcutOf(ground, call => this.#callSealed(call))
    const kinds: typeof carrierKinds = new Map([
      ...carrierKinds,
      [OPEN, at => openCarriers(at, shortcuts)],
      [SEALED, at => sealedCarriers(at, shortcut)],
    ])
    return carriersOf(ground, kinds)
  }

  /** A side takes letters at an address of its own and sends directly. */
  open(side: Side): void {
    const address = `${side.name}.test:4001`
    side.ctx.settings.change({ p2p: { send: true, address } })
    this.#takers.set(address, side)
  }

  /** The process that takes letters of a side ends; gives what starts it again. */
  end(side: Side): () => void {
    const address = `${side.name}.test:4001`
    this.#takers.delete(address)
    return () => void this.#takers.set(address, side)
  }

  #takingAt(address: string) {
    const side = this.#takers.get(address)
    if (side === undefined || side.isAway) throw new NotDelivered('it is not reached')
    return module?.takingOf(side.ctx, takerOf(side.ctx))
  }

  async #callSealed({ address, envelope }: EnvelopeCall): Promise<Uint8Array> {
    const taking = this.#takingAt(address)
    if (this.line === 'somebody else answers') return envelope.subarray(0, 540)
    const refused = await taking?.envelopes.admit(envelope.subarray(0, 4096), envelope.length)
    if (refused !== undefined) throw new NotDelivered('it answers 403')
    return this.#confirmed(await taking?.envelopes.take(envelope))
  }

  async #call({ address, letter }: DirectCall): Promise<Uint8Array> {
    const taking = this.#takingAt(address)
    if (this.line === 'somebody else answers') return fromBase64(letter.payload).subarray(0, 300)
    return this.#confirmed(await taking?.letters.take(letter))
  }

  #confirmed(answered: { confirmation: Uint8Array } | { refused: string } | undefined): Uint8Array {
    if (answered === undefined || 'refused' in answered) throw new NotDelivered('it answers 403')
    if (this.line === 'answers are lost') throw new NotDelivered('it was cut')
    this.confirmed += 1
    return answered.confirmation
  }
}
