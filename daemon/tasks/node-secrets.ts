/** What must never leave in an automatic answer. */
import { proxySecrets } from '../../autoreply/proxy-secrets.ts'
import type { Settings } from '../home/settings.ts'
import { type Identity, phraseOfSeed } from '../identity/identity.ts'
import type { MailboxKeys } from '../identity/mailbox-keys.ts'
import type { DeliveryCapabilities } from '../peers/capabilities.ts'
import type { Env } from './backends.ts'

type SecretParts = {
  identity: Identity
  keys: MailboxKeys
  capabilities: DeliveryCapabilities
  settings: Settings
  env: Env
  /** Tokens of the local interfaces. */
  tokens: () => readonly string[]
}

export class NodeSecrets {
  readonly #parts: SecretParts

  constructor(parts: SecretParts) {
    this.#parts = parts
  }

  list(): (string | Uint8Array)[] {
    const { identity, keys, capabilities, settings, env, tokens } = this.#parts
    const next = identity.nextSeed
    const identitySeeds = [identity.seed, ...(next === undefined ? [] : [next])]
    const seeds = [...identitySeeds, keys.mailboxSeed, ...keys.encryptionSeeds, ...capabilities.heldSeeds()]
    return [
      ...tokens(),
      settings.current.auto_reply?.api_key ?? '',
      ...proxySecrets(env),
      ...identitySeeds.map(phraseOfSeed),
      ...seeds,
    ]
  }
}
