/** Credits that come to be: what a new account is given, and what the operator grants. Each is in the supply chain. */
import { toHex } from '../../../protocol/encoding/bytes.ts'
import type { NewSupplyRecord, PostedTransfer, Posting, PostResult } from '../../store/ledger-port.ts'
import type { HubContext } from '../context.ts'
import { DAY_MS } from '../limits.ts'
import type { SupplyChain } from '../supply/chain.ts'
import { agentAccount, grantId, ISSUE, trialId } from './names.ts'
import { checkPosted, type Halted } from './refused.ts'
import { isReturned } from './returned-changes.ts'

/** Trial credits of an account: still to come, or given; a hub that gives none has no word for it. */
export type Trial = 'pending' | 'granted'

/**
 * What became of an order: `repeated`, it was carried out before · `returned`, it came back after a restore · `other`, it
 * stands for another grant.
 */
export type Granted = 'given' | 'repeated' | 'returned' | 'other'

type Change = { aid: string; amount: number; reason: 'grant' | 'trial' }

export class Issuance {
  readonly #context: Pick<HubContext, 'store' | 'now' | 'limits'>
  readonly #supply: SupplyChain

  constructor(context: Pick<HubContext, 'store' | 'now' | 'limits'>, supply: SupplyChain) {
    this.#context = context
    this.#supply = supply
  }

  /**
   * Credits that the operator gives; `command`, 16 bytes, names the order, so that a repeated one gives them once: also one
   * that a restored hub knows from its supply chain alone. Throws where there would be too many credits.
   */
  async grant(aid: string, amount: number, command: Uint8Array, isRepeat = false): Promise<Granted> {
    const change: Change = { aid, amount, reason: 'grant' }
    const id = grantId(command)
    const { store } = this.#context
    const isUnknown = isRepeat && (await store.transfer(id)) === undefined
    if (isUnknown && (await isReturned(store, 'grant', { aid, amount, order: toHex(command) })))
      return 'returned'
    const result = await this.#issue({ id, reason: 'grant' }, change)
    checkPosted(result)
    if (result.outcome !== 'held') return 'given'
    return (await this.#isOf(result.transfer, change)) ? 'repeated' : 'other'
  }

  async #isOf({ seq, amount }: PostedTransfer, change: Change): Promise<boolean> {
    const entries = { aid: change.aid, before: seq + 1, sinceMs: 0, limit: 1 }
    const [entry] = await this.#context.store.ledgerEntries(entries)
    return entry?.seq === seq && amount === change.amount
  }

  /** The trial credits of an account, once; whether it has them now. `budgeted` ones wait when the day's are given. */
  async trial(aid: string, budgeted: boolean): Promise<boolean> {
    const { limits, now } = this.#context
    const change: Change = { aid, amount: limits.trialCredits, reason: 'trial' }
    const max = budgeted ? limits.trialBudget : Number.MAX_SAFE_INTEGER
    const trials = { sinceMs: Math.floor(now() / DAY_MS) * DAY_MS, max }
    const { outcome } = await this.#issue({ id: trialId(aid), reason: 'trial', trials }, change)
    return outcome === 'posted' || outcome === 'held'
  }

  /** Of a new account: at once for an agent that the operator let in, after probation for one that came by work. */
  async trialOfNew(aid: string, byWork: boolean): Promise<Trial | undefined> {
    const standing = await this.trialOf(aid)
    if (standing !== 'pending' || byWork) return standing
    return (await this.trial(aid, false)) ? 'granted' : 'pending'
  }

  async trialOf(aid: string): Promise<Trial | undefined> {
    const given = await this.#context.store.transfer(trialId(aid))
    if (given !== undefined) return 'granted'
    return this.#context.limits.trialCredits > 0 ? 'pending' : undefined
  }

  #issue(given: Pick<Posting, 'id' | 'reason' | 'trials'>, change: Change): Promise<PostResult | Halted> {
    const { aid, amount } = change
    const post = (supply: NewSupplyRecord) => {
      const moves = [{ from: ISSUE, to: agentAccount(aid), amount }]
      return this.#context.store.post({ ...given, atMs: this.#context.now(), amount, moves, supply })
    }
    return this.#supply.withChange('issued', change, post)
  }
}
