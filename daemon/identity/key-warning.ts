/** What a person should know of an identity's keys, from its node and from outside. */
import type { IdentityState } from './identity.ts'

export function keyWarning({
  deactivated,
  hasNextKey,
}: Pick<IdentityState, 'deactivated' | 'hasNextKey'>): string | undefined {
  if (deactivated)
    return 'this identity is deactivated: nobody can sign for it any more; svc id new <name> makes another'
  if (hasNextKey) return undefined
  return 'the next key is not on this machine; to rotate, deactivate or change hubs, svc id next import reads its phrase from standard input'
}
