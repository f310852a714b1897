/** What the operator of a creditor says of a debt that was paid outside: signed, booked here, and shown to the debtor. */
import { ClearingStatement } from '../../../protocol/proof/clearing.ts'
import type { HubContext } from '../context.ts'
import { clearId } from '../ledger/names.ts'
import type { SupplyChain } from '../supply/chain.ts'
import { postCleared } from './lost-and-shown.ts'

type Context = Pick<HubContext, 'identity' | 'store' | 'now'>
/** The last running number that this hub gave. */
const NUMBER_SETTING = 'cleared_number'

export type PaidDebt = { debtor: string; amount: number; reference: string }
/**
 * `repeated`: it was booked before · `other`: another amount was, under this reference · `over`: the debtor owes only so
 * much.
 */
export type PaidResult =
  | { outcome: 'booked' | 'repeated'; number: number }
  | { outcome: 'other'; amount: number }
  | { outcome: 'over'; owes: number }
  | { outcome: 'refused'; why: string }

export class PaidDebts {
  readonly #context: Context
  readonly #supply: SupplyChain

  constructor(context: Context, supply: SupplyChain) {
    this.#context = context
    this.#supply = supply
  }

  /** A reference of a debtor stands for one payment: repeated, nothing more is booked. */
  async book({ debtor, amount, reference }: PaidDebt): Promise<PaidResult> {
    const { identity, store, now } = this.#context
    const earlier = (await store.clearedUnder(reference))
      .map(bytes => ClearingStatement.decode(bytes).body)
      .find(one => one.creditor === identity.aid && one.debtor === debtor)
    if (earlier !== undefined)
      return earlier.amount === amount
        ? { outcome: 'repeated', number: earlier.number }
        : { outcome: 'other', amount: earlier.amount }
    const { due } = await store.peerFigures(debtor)
    if (amount > -due) return { outcome: 'over', owes: Math.max(0, -due) }
    const number = await this.#nextNumber()
    const statement = ClearingStatement.sign(identity.seed, {
      v: 1,
      creditor: identity.aid,
      creditorKelSeq: identity.seq,
      debtor,
      amount,
      reference,
      number,
      at: now(),
    })
    const bytes = ClearingStatement.encode(statement)
    const outcome = await postCleared(this.#context, this.#supply, statement.body, bytes)
    return outcome === 'posted' ? { outcome: 'booked', number } : { outcome: 'refused', why: outcome }
  }

  /** By the clock: a restored hub does not know which ones it gave. */
  async #nextNumber(): Promise<number> {
    const { identity, store, now } = this.#context
    let number = Math.max(now(), Number((await store.setting(NUMBER_SETTING)) ?? 0) + 1)
    while ((await store.transfer(clearId(identity.aid, number))) !== undefined) number += 1
    await store.putSetting(NUMBER_SETTING, String(number))
    return number
  }
}
