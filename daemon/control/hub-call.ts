/** Calls to a hub on a user's order: their failures by the codes of the control table. */
import { Refused } from '../../protocol/contract/client.ts'
import { OperationRefused } from '../../protocol/control/refusal.ts'
import { plainLine } from '../../protocol/encoding/plain-text.ts'
import { ConfigError } from '../home/config.ts'
import { describe } from '../hubs/failures.ts'
import { ClocksApart, DatedAhead, HubStopped } from '../hubs/hub.ts'
import { KeyRefused } from '../identity/identity.ts'
import { refuse } from '../refusal.ts'

const WORDS_MAX = 500

type Own = { readonly aid: string }

/** `own`: this node's identity, the only one that a command to copy may name; a call may have made it anew. */
export async function hubCall<T>(own: Own, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof OperationRefused || error instanceof ConfigError) throw error
    if (error instanceof ClocksApart) return refuse('hub_refused', error.message, clockStep(error))
    if (error instanceof HubStopped) return refuse('hub_incompatible', error.message)
    if (error instanceof KeyRefused)
      return refuse(error.code === 'deactivated' ? 'identity_deactivated' : 'next_key_missing', error.message)
    if (error instanceof Refused) return refuseAs(error, own)
    return refuse('hub_unreachable', describe(error))
  }
}

export const isUnreachable = (error: unknown): error is OperationRefused =>
  error instanceof OperationRefused && error.code === 'hub_unreachable'

/** What is to be published is kept here also when the hub does not answer. */
export async function publishing(own: Own, work: () => Promise<void>): Promise<void> {
  try {
    await hubCall(own, work)
  } catch (error) {
    if (!isUnreachable(error)) throw error
    const kept = 'the new profile is kept here, the hub has not been given it'
    refuse('hub_unreachable', `${error.message}; ${kept}`, 'the same command again, once the hub answers')
  }
}

function clockStep(error: ClocksApart): string | undefined {
  return error instanceof DatedAhead ? undefined : 'date; set the clock of this machine, then: svc status'
}

/** A hub's words stay on one line, so that none of them looks like a word of this node. */
function refuseAs(error: Refused, { aid }: Own): never {
  if (error.code === 'wire_too_old') refuse('hub_incompatible', error.message)
  if (error.code === 'admission_required')
    refuse(
      'hub_refused',
      `the hub refused (${error.code}): ${aid} is not registered there, and only the operator can admit it`,
      `the operator of the hub runs: svc-hub admit ${aid}`,
    )
  refuse('hub_refused', `the hub refused (${error.code}): ${plainLine(error.message, WORDS_MAX)}`)
}
