/** What is done between the hubs: tasks of nodes, and mail and payments without a node. */
import type { TestAgent } from '../../hub/testing/hub.ts'
import {
  call,
  declined,
  failedCall,
  paidAndEnded,
  paidCall,
  paidWords,
  refunded,
  talk,
  withdrawn,
  withFile,
} from '../chaos/kinds.ts'
import type { Script } from '../chaos/script.ts'
import { Letter } from '../matrix/peers/letters.ts'
import { Across } from '../matrix/peers/payments.ts'
import type { HubName, PeersChaos } from './world.ts'

/** A task between nodes of two hubs. */
export type Work = { name: string; run(script: Script): Promise<void> }

export const freeTasks: readonly Work[] = [
  { name: 'words', run: talk },
  { name: 'call', run: call },
  { name: 'file', run: withFile },
]

export const paidTasks: readonly Work[] = [
  { name: 'paid words', run: paidWords },
  { name: 'paid and ended', run: paidAndEnded },
  { name: 'refund', run: refunded },
  { name: 'withdrawn', run: withdrawn },
  { name: 'declined', run: declined },
  { name: 'paid call', run: paidCall },
  { name: 'failed call', run: failedCall },
]

export type Between = { world: PeersChaos; n: number; from: HubName; to: HubName }
/** What one hub is asked for that needs another; made before it is asked for. */
export type Deed = { kind: string; weight: number; make(between: Between): Letter | Across }

const KIB = 1024
const AMOUNT = 9
const TAKES = 4
const SOON_MS = 30_000
const HOLD_SECONDS = 30

const letter =
  (options: { bytes?: number; isStranger?: boolean }) =>
  ({ world, n, from, to }: Between): Letter => {
    const [alice, bob] = [world.agent(from), world.agent(to)]
    const hubs = { from: world.hub(from), to: world.hub(to) }
    return new Letter(hubs, { alice, bob, capability: bob.capability() }, { name: `letter ${n}`, ...options })
  }

type Paying = { isHold?: boolean; takes?: number; isForgotten?: boolean }
const payment =
  ({ isHold = false, takes, isForgotten = false }: Paying) =>
  ({ world, n, from, to }: Between): Across => {
    const [payer, payee]: TestAgent[] = [world.agent(from), world.agent(to)]
    const given = { name: `payment ${n}`, payers: world.hub(from), payees: world.hub(to), payer, payee }
    const notAfter = world.hub(from).target.clock.now() + SOON_MS
    const more = { ...(isHold && { holdSeconds: HOLD_SECONDS }), ...(isForgotten && { notAfter }) }
    const one = new Across({ ...given, amount: AMOUNT } as ConstructorParameters<typeof Across>[0], more)
    return Object.assign(one, { takes })
  }

export const deeds: readonly Deed[] = [
  { kind: 'letter', weight: 4, make: letter({}) },
  { kind: 'letter of a stranger', weight: 2, make: letter({ isStranger: true }) },
  { kind: 'large letter', weight: 1, make: letter({ bytes: 300 * KIB }) },
  { kind: 'payment', weight: 4, make: payment({}) },
  { kind: 'payment, left alone', weight: 1, make: payment({ isForgotten: true }) },
  { kind: 'hold, captured', weight: 3, make: payment({ isHold: true, takes: TAKES }) },
  { kind: 'hold, released', weight: 1, make: payment({ isHold: true, takes: 0 }) },
  { kind: 'hold, left alone', weight: 1, make: payment({ isHold: true, isForgotten: true }) },
]
