/** The work of a call: its provider is run once, with a mark in the store before it. */
import { decodePayload, kinds } from '../../protocol/mail/payload.ts'
import { parseRequestDocument } from '../../protocol/proof/documents.ts'
import type { Modules } from '../modules/modules.ts'
import type { Provider } from '../modules/provider.ts'
import type { PaidAnswer } from '../payments/payee.ts'
import { markCallBegun } from '../store/interactions.ts'
import type { Store } from '../store/open.ts'
import type { Interaction, Threads } from '../store/threads.ts'
import { notServed } from './dispatch.ts'

/** Of the modules of this build, what running a call takes. */
export type Serving = Pick<Modules, 'find' | 'priceOf' | 'startsOf' | 'run'>

type WorkParts = { store: Store; threads: Threads; modules: Serving }

export class CallWork {
  readonly #parts: WorkParts

  constructor(parts: WorkParts) {
    this.#parts = parts
  }

  /** Undefined where the signal ended it. */
  async carryOut(
    interaction: Interaction,
    provider: Provider | undefined,
    signal: AbortSignal,
  ): Promise<PaidAnswer | undefined> {
    const { store, modules } = this.#parts
    const capability = interaction.capability ?? ''
    if (provider === undefined) return { effect: notServed(capability) }
    markCallBegun(store, interaction.key, true)
    const call = { capability, args: this.#argumentsOf(interaction), caller: interaction.peer }
    const effect = await modules.run(provider, { ...call, signal })
    return signal.aborted ? undefined : { effect, isPrivate: provider.isPrivate === true }
  }

  #argumentsOf({ key }: Interaction): Readonly<Record<string, unknown>> {
    const { threads } = this.#parts
    const [first] = threads.messages(key, 0, 1)
    if (first === undefined) return {}
    const message = threads.message(first.key)
    const decoded = decodePayload(message.kind, message.payload)
    if (decoded.kind !== kinds.delegate) return {}
    const document = parseRequestDocument(decoded.payload.document)
    return 'args' in document ? document.args : {}
  }
}
