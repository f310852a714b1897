/** Whether a hub that answers takes nothing from this identity until its operator lets it in again. */
import { Refused } from '../../protocol/contract/client.ts'
import type { VerifiedKel } from '../../protocol/identity/kel.ts'
import type { HubClient } from './hub.ts'

/** What a refusal shows, where needed with one more question. */
export async function isKeptOut(
  error: unknown,
  hub: Pick<HubClient, 'checkAdmission'>,
  log: VerifiedKel,
): Promise<boolean> {
  if (!(error instanceof Refused)) return false
  if (error.code === 'admission_required') return true
  if (error.code !== 'unauthorized') return false
  return await hub.checkAdmission(log).then(
    () => false,
    refused => refused instanceof Refused && refused.code === 'admission_required',
  )
}

export const sayKeptOut = (aid: string, url: string): string =>
  `the hub does not let this identity in any more: its operator has blocked, archived or removed it, or has put the hub back to a backup from before it was let in; ${stepOfOperator(aid)}; after an admit run here: svc hub-register ${url}`

/** All three commands, since no hub says which of them it needs. */
export const stepOfOperator = (aid: string): string =>
  `the operator of the hub runs: svc-hub admit ${aid} (or svc-hub unblock ${aid} where it is blocked, or svc-hub unarchive ${aid} where it is archived)`
