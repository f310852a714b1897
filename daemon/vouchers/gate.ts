/**
 * The gate for vouchers (node document §5): one paid use of a capability for whoever shows the hub's word on it. A voucher is
 * spent durably before its work begins. Attacker: anybody who can reach the address, with or without a voucher.
 */

import { contentId } from '../../protocol/crypto/hash.ts'
import { equal, fromBase64, Malformed, toBase64url } from '../../protocol/encoding/bytes.ts'
import { Refusal } from '../../protocol/encoding/errors.ts'
import type { JsonValue } from '../../protocol/encoding/json.ts'
import { keyAt } from '../../protocol/identity/kel.ts'
import { documentBytes, parseRequestDocument } from '../../protocol/proof/documents.ts'
import { type Effect, renderEffect } from '../../protocol/proof/effect.ts'
import { networkOf } from '../../protocol/proof/payment.ts'
import { callPurpose, Voucher, type VoucherBody } from '../../protocol/proof/voucher.ts'
import type { Chain } from '../chain/chain.ts'
import type { CurrentHub } from '../hubs/current.ts'
import type { HubClient } from '../hubs/hub.ts'
import { learnHubKey } from '../hubs/log.ts'
import type { Identity } from '../identity/identity.ts'
import type { Modules } from '../modules/modules.ts'
import type { Machine } from '../platform/machine.ts'
import type { Store } from '../store/open.ts'
import { paymentById } from '../store/payments.ts'
import { SpentVouchers } from './spent.ts'

/** Calls that run at once. */
const RUNNING_MAX = 8
/** A hub's clock may be ahead of this node's by so much. */
const CLOCK_TOLERANCE_MS = 2 * 60_000
/** Of one voucher each refusal is recorded once; so many are remembered. */
const REFUSALS_KEPT = 10_000
const CALL_ID_BYTES = 16
const KEY_ASKED_EVERY_MS = 60_000

/** Why nothing was done for a voucher. `malformed` to `forged` come before anything shows that it is one. */
export type GateCode =
  | 'malformed'
  | 'not_served'
  | 'busy'
  | 'closed'
  | 'forged'
  | 'expired'
  | 'not_for_this'
  | 'other_arguments'
  | 'redeemed'

export class GateRefused extends Refusal<GateCode> {
  override name = 'GateRefused'
}

/** `voucher` as standard base64 of its bytes. */
export type Shown = { voucher: string; capability: string; args: Record<string, JsonValue> }

export type GateParts = {
  identity: Identity
  hub: CurrentHub
  store: Store
  chain: Chain
  modules: Modules
}

export class VoucherGate {
  readonly #parts: GateParts
  readonly #machine: Machine
  readonly #hubNow: () => number
  readonly #spent: SpentVouchers
  readonly #told = new Set<string>()
  #running = 0
  /** When the hub was last asked for its keys, monotonic. */
  #learnedAt = Number.NEGATIVE_INFINITY

  constructor(parts: GateParts, machine: Machine, hubNow: () => number) {
    this.#parts = parts
    this.#machine = machine
    this.#hubNow = hubNow
    this.#spent = new SpentVouchers(parts.chain, parts.store)
  }

  /** Takes a voucher, runs the call and answers its effect; throws {@link GateRefused} with nothing spent. */
  async redeem({ voucher, capability, args }: Shown, signal: AbortSignal): Promise<string> {
    const { modules, hub } = this.#parts
    const provider = modules.find(capability)
    if (hub.oldCopy !== undefined || hub.unsettled !== undefined || hub.home === undefined)
      throw new GateRefused('closed', 'this agent takes no vouchers now')
    const body = await this.#verified(voucher, hub.home)
    const document = documentOf(capability, args)
    if (provider === undefined) throw new GateRefused('not_served', `this agent does not serve ${capability}`)
    if (this.#running >= RUNNING_MAX)
      throw new GateRefused('busy', 'too many calls run now; the voucher is good still')
    const id = toBase64url(this.#machine.random(CALL_ID_BYTES))
    this.#spend(body, { capability, document, hub: hub.home })
    this.#running += 1
    try {
      const effect = await modules.run(provider, { capability, args, caller: body.payer, signal })
      this.#note(id, capability, effect)
      return renderEffect(effect)
    } finally {
      this.#running -= 1
    }
  }

  /** A voucher that the home hub signed, under a key of the log that this node holds of it. */
  async #verified(encoded: string, home: HubClient): Promise<VoucherBody> {
    const voucher = decoded(encoded)
    const { body } = voucher
    if (body.hub === home.identity.aid) await this.#learnKey(home, body.hubKelSeq)
    const { log, aid } = home.identity
    const key = body.hub === aid ? keyAt(log, body.hubKelSeq) : undefined
    if (key === undefined || !Voucher.verify(key, voucher))
      throw new GateRefused('forged', `the hub of this agent, ${aid}, did not sign this voucher`)
    return body
  }

  /** Its operator may have rotated the key; anybody can name a later one, so the hub is asked once a minute. */
  async #learnKey(home: HubClient, seq: number): Promise<void> {
    const now = this.#machine.timers.monotonic()
    if (seq <= home.identity.log.seq || now - this.#learnedAt < KEY_ASKED_EVERY_MS) return
    this.#learnedAt = now
    await learnHubKey(home, seq).catch(() => undefined)
  }

  /** All that is judged and written of a voucher is one step. */
  #spend(body: VoucherBody, call: { capability: string; document: Uint8Array; hub: HubClient }): void {
    const { store } = this.#parts
    const refusal = store.transaction(() => {
      const why = this.#whyNot(body, call)
      if (why === undefined) this.#spent.take(body)
      else this.#tell(body, why)
      return why
    }, 'node.voucher')
    if (refusal !== undefined) throw refusal
  }

  #whyNot(
    body: VoucherBody,
    { capability, document, hub }: { capability: string; document: Uint8Array; hub: HubClient },
  ): GateRefused | undefined {
    const { identity, store } = this.#parts
    const now = this.#hubNow()
    if (this.#spent.has(body) || paymentById(store, body.transaction) !== undefined)
      return new GateRefused('redeemed', 'this voucher, or what paid for it, was used already')
    if (body.provider !== identity.aid || body.capability !== capability)
      return new GateRefused('not_for_this', 'this voucher is for another agent or capability')
    if (body.network !== networkOf(hub.identity.aid))
      return new GateRefused('not_for_this', 'this voucher was paid in the credits of another hub')
    if (body.notAfter < now || body.issuedAt > now + CLOCK_TOLERANCE_MS)
      return new GateRefused('expired', 'this voucher is over; each is good for ten minutes')
    const isPinned = body.purpose !== undefined && !equal(body.purpose, callPurpose(contentId(document)))
    return isPinned
      ? new GateRefused('other_arguments', 'what was paid for is a call with other arguments')
      : undefined
  }

  /** Once for each reason: whoever has a voucher may show it as often as it likes. */
  #tell({ id, payer, capability }: VoucherBody, { code }: GateRefused): void {
    const voucher = toBase64url(id)
    const told = `${voucher} ${code}`
    if (this.#told.has(told)) return
    if (this.#told.size >= REFUSALS_KEPT) this.#told.clear()
    this.#told.add(told)
    this.#parts.chain.append('svc.voucher.refused', { reason: code, capability, payer, voucher_id: voucher })
  }

  #note(id: string, capability: string, { status }: Effect): void {
    const event = { interaction_id: id, capability, status, via: 'voucher' }
    this.#parts.store.transaction(
      () => void this.#parts.chain.append('svc.capability.effect', event),
      'node.effect',
    )
  }
}

function documentOf(capability: string, args: Record<string, JsonValue>): Uint8Array {
  try {
    const document = documentBytes({ capability, args })
    parseRequestDocument(document)
    return document
  } catch (error) {
    if (error instanceof Malformed) throw new GateRefused('malformed', error.message)
    throw error
  }
}

function decoded(encoded: string): Voucher {
  try {
    return Voucher.decode(fromBase64(encoded))
  } catch (error) {
    if (error instanceof Malformed) throw new GateRefused('malformed', `this is no voucher: ${error.message}`)
    throw error
  }
}
