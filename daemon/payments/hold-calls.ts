/** Reaches the hub of a payment; one that is not reached, or is silent, is asked again later. */
import type { Logger } from 'pino'
import { networkOf } from '../../protocol/proof/payment.ts'
import type { CurrentHub } from '../hubs/current.ts'
import { describe } from '../hubs/failures.ts'
import { type HubClient, waitsForOtherHub } from '../hubs/hub.ts'
import type { PaymentRow } from '../store/payments.ts'
import type { Accounts } from './accounts.ts'
import type { HoldProblems } from './hold-problems.ts'

type CallParts = { hub: CurrentHub; accounts: Accounts; problems: HoldProblems }

export class HoldCalls {
  readonly #hub: CurrentHub
  readonly #accounts: Accounts
  readonly #problems: HoldProblems
  readonly #log: Logger

  constructor({ hub, accounts, problems }: CallParts, log: Logger) {
    this.#hub = hub
    this.#accounts = accounts
    this.#problems = problems
    this.#log = log
  }

  async hubOf(row: PaymentRow): Promise<HubClient | undefined> {
    const hub = await this.#accounts.accountOf(row.network).catch(error => {
      this.#log.info({ reason: describe(error) }, 'the hub of a payment was not reached')
      this.#problems.open(row, 'unanswered')
      return 'silent' as const
    })
    if (hub === undefined) this.#problems.open(row, 'no_account')
    return hub === 'silent' ? undefined : hub
  }

  /** Undefined where the hub is silent, or waits for that of the payer. */
  async answer<T extends object>(row: PaymentRow, ask: () => Promise<T>): Promise<T | undefined> {
    try {
      const answer = await ask()
      return waitsForOtherHub(answer) ? this.#problems.open(row, 'other_hub') : answer
    } catch (error) {
      this.#log.warn({ err: error }, 'the hub did not answer to a payment')
      this.#problems.open(row, 'unanswered')
      return undefined
    }
  }

  /** A payee that leaves its hub for a moment does not fit there; until the authorization ends it may be back. */
  mayBeRegistered({ network }: PaymentRow): boolean {
    const { home } = this.#hub
    return home === undefined || networkOf(home.identity.aid) === network
  }
}
