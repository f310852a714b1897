/** Registering at the home hub, as often as its refusals can be made good. */
import type { Logger } from 'pino'
import { Refused } from '../../protocol/contract/client.ts'
import { present } from '../../protocol/encoding/present.ts'
import { verifyKel } from '../../protocol/identity/kel.ts'
import { KeySet } from '../../protocol/identity/keyset.ts'
import type { CurrentHub } from '../hubs/current.ts'
import { describe } from '../hubs/failures.ts'
import type { HubClient, PowSolution, RegisterReply } from '../hubs/hub.ts'
import { type PowSolver, powChallenge } from '../hubs/pow.ts'
import type { Identity } from '../identity/identity.ts'
import type { OwnKeySet } from './key-set.ts'
import type { KeyState } from './key-state.ts'
import type { OwnAddress } from './own-address.ts'
import type { OwnProfile } from './profile.ts'
import type { PushedLog } from './push-log.ts'

const ATTEMPTS_MAX = 5

type Work = { signal: AbortSignal; onProgress: (share: number) => void }
type Attempts = { pow: PowSolution | undefined; mayRotate: boolean; work: Work }

/** One registration: log, profile, key set and card in one call. */
export class RegisterCall {
  readonly #identity: Identity
  readonly #keySet: OwnKeySet
  readonly #profile: OwnProfile
  readonly #address: OwnAddress
  readonly #pushedLog: PushedLog
  readonly #log: Logger

  constructor(parts: {
    identity: Identity
    keySet: OwnKeySet
    profile: OwnProfile
    address: OwnAddress
    pushedLog: PushedLog
    log: Logger
  }) {
    this.#identity = parts.identity
    this.#keySet = parts.keySet
    this.#profile = parts.profile
    this.#address = parts.address
    this.#pushedLog = parts.pushedLog
    this.#log = parts.log
  }

  get aid(): string {
    return this.#identity.aid
  }

  /** Notes all that the hub has confirmed with its answer. */
  async send(home: HubClient, pow: PowSolution | undefined): Promise<RegisterReply> {
    const profile = this.#profile
    const set = this.#keySet.ensure()
    const card = profile.card(home)
    const reply = await home.register({
      log: this.#identity.log,
      profile: profile.current,
      keySet: KeySet.encode(set),
      ...present({ card, pow }),
    })
    this.#keySet.confirm(set)
    // A new account is hub-local, whatever its agent was elsewhere.
    const { visibility } = profile
    if (visibility !== undefined && reply.probationUntilMs !== undefined) await home.setVisibility(visibility)
    this.#pushedLog.noteTold(home)
    this.#address.forget(home)
    if (card !== undefined) profile.noteCard(home, card, reply.cardStatus)
    return reply
  }

  /** The hub added its witness entry to our last event; messages carry it from now on. */
  async adoptWitness(home: HubClient): Promise<void> {
    const identity = this.#identity
    try {
      identity.adoptWitnesses(verifyKel(await home.fetchLog(identity.aid)))
    } catch (error) {
      this.#log.info({ reason: describe(error) }, 'witness entry not fetched')
    }
  }

  /** The card named another address than the hub gives itself: once more with that one. */
  async isAddressNews(home: HubClient, { cardStatus }: RegisterReply): Promise<boolean> {
    return cardStatus === 'refused' && this.#profile.learnAddress(home).catch(() => false)
  }

  /** Goes above the set that the hub says it holds; false where that is not why it refused. */
  goAbove(refused: Refused): boolean {
    return this.#keySet.goAbove(refused)
  }
}

export class Registration {
  readonly #hub: CurrentHub
  readonly #keyState: KeyState
  readonly #solver: PowSolver
  readonly #call: RegisterCall
  readonly #wakeMail: () => void

  constructor(parts: {
    hub: CurrentHub
    keyState: KeyState
    solver: PowSolver
    call: RegisterCall
    wakeMail: () => void
  }) {
    this.#hub = parts.hub
    this.#keyState = parts.keyState
    this.#solver = parts.solver
    this.#call = parts.call
    this.#wakeMail = parts.wakeMail
  }

  async at(home: HubClient, signal: AbortSignal): Promise<RegisterReply> {
    const registering = this.#hub.beginRegistering()
    try {
      const reply = await this.#attempts(home, { signal, onProgress: registering.progress })
      registering.end(undefined)
      return reply
    } catch (error) {
      registering.end(describe(error))
      throw error
    }
  }

  async #attempts(home: HubClient, work: Work): Promise<RegisterReply> {
    const attempts = { pow: this.#solver.kept(home.identity.aid), mayRotate: true, work }
    for (let n = 1; ; n++) {
      try {
        const reply = await this.#once(home, attempts.pow)
        if (!(await this.#call.isAddressNews(home, reply))) return reply
      } catch (error) {
        if (!(error instanceof Refused) || n >= ATTEMPTS_MAX) throw error
        await this.#makeUpFor(home, error, attempts)
      }
    }
  }

  async #once(home: HubClient, pow: PowSolution | undefined): Promise<RegisterReply> {
    const reply = await this.#call.send(home, pow)
    this.#solver.forget(home.identity.aid)
    this.#hub.noteContact(undefined)
    await this.#call.adoptWitness(home)
    this.#wakeMail()
    return reply
  }

  /** Does what the refusal asks for; throws it again where nothing helps. */
  async #makeUpFor(home: HubClient, refused: Refused, attempts: Attempts): Promise<void> {
    const isForTime = refused.code === 'kel_ts_out_of_window'
    const keyState = this.#keyState
    if (refused.code === 'pow_required') attempts.pow = await this.#solve(home, refused, attempts.work)
    else if (isForTime && attempts.mayRotate && keyState.isBehind(home)) {
      // The last event is too old for the hub: one more, at its time.
      keyState.rotate(home)
      home.mail?.dropSession()
      attempts.mayRotate = false
    } else if (isForTime && keyState.isAheadOf(home)) throw keyState.sayAheadOf(home)
    else if (!this.#call.goAbove(refused)) throw refused
  }

  async #solve(home: HubClient, error: Refused, work: Work): Promise<PowSolution> {
    const challenge = powChallenge(error)
    const task = { hub: home.identity.aid, aid: this.#call.aid, seed: challenge.seed }
    return this.#solver.solve(task, challenge, work)
  }
}
