/** Calls to a hub on a user's order: their failures by the codes of the control table. */
import { Refused } from '../../protocol/contract/client.ts'
import { OperationRefused } from '../../protocol/control/refusal.ts'
import { ConfigError } from '../home/config.ts'
import { describe } from '../hubs/failures.ts'
import { ClocksApart, DatedAhead, HubStopped } from '../hubs/hub.ts'
import { KeyRefused } from '../identity/identity.ts'
import { refuse } from '../refusal.ts'

export async function hubCall<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof OperationRefused || error instanceof ConfigError) throw error
    if (error instanceof ClocksApart) return refuse('hub_refused', error.message, clockStep(error))
    if (error instanceof HubStopped) return refuse('hub_incompatible', error.message)
    if (error instanceof KeyRefused)
      return refuse(error.code === 'deactivated' ? 'identity_deactivated' : 'next_key_missing', error.message)
    if (error instanceof Refused) return refuseAs(error)
    return refuse('hub_unreachable', describe(error))
  }
}

export const isUnreachable = (error: unknown): error is OperationRefused =>
  error instanceof OperationRefused && error.code === 'hub_unreachable'

/** What is to be published is kept here also when the hub does not answer. */
export async function publishing(work: () => Promise<void>): Promise<void> {
  try {
    await hubCall(work)
  } catch (error) {
    if (!isUnreachable(error)) throw error
    const kept = 'the new profile is kept here, the hub has not been given it'
    refuse('hub_unreachable', `${error.message}; ${kept}`, 'the same command again, once the hub answers')
  }
}

function clockStep(error: ClocksApart): string | undefined {
  return error instanceof DatedAhead ? undefined : 'date; set the clock of this machine, then: svc status'
}

function refuseAs(error: Refused): never {
  if (error.code === 'wire_too_old') refuse('hub_incompatible', error.message)
  return refuse('hub_refused', `the hub refused (${error.code}): ${error.message}`, nextOf(error))
}

/** The step after the semicolon of a hub's sentence, where it is a command for the operator. */
function nextOf(error: Refused): string | undefined {
  const aid = error.members['aid']
  return error.code === 'admission_required' && typeof aid === 'string'
    ? `the operator of the hub runs: svc-hub admit ${aid}`
    : undefined
}
