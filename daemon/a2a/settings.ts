/** What is set of the A2A interface, and the token that opens it: both are there whether it runs or not. */
import { join } from 'node:path'
import type { A2aConfig } from '../home/a2a-config.ts'
import { addressOf, LOOPBACK_HOSTS } from '../home/config.ts'
import type { Settings } from '../home/settings.ts'
import { ensureToken, renewToken, tokenFiles } from '../home/token.ts'

export type A2aToken = { token: string; file: string }

export class A2aSettings {
  readonly #dir: string
  readonly #settings: Settings
  readonly #random: (length: number) => Uint8Array
  #token: string | undefined

  constructor(dir: string, settings: Settings, random: (length: number) => Uint8Array) {
    this.#dir = dir
    this.#settings = settings
    this.#random = random
  }

  /** Undefined where nobody ever turned it on. */
  get current(): A2aConfig | undefined {
    return this.#settings.current.a2a
  }

  /** Where it can be reached from outside of this machine, as it is set. */
  get outside(): string | undefined {
    const { enabled = false, addr = '' } = this.current ?? {}
    const [host = ''] = addressOf(addr)
    return enabled && !LOOPBACK_HOSTS.includes(host) ? host : undefined
  }

  /** The token, which the first who asks for it makes. */
  token(): A2aToken {
    this.#token = ensureToken(this.#dir, this.#random, 'a2a')
    return this.#told(this.#token)
  }

  /** Another token in the place of the present one. */
  renewToken(): A2aToken {
    this.#token = renewToken(this.#dir, this.#random, 'a2a')
    return this.#told(this.#token)
  }

  #told(token: string): A2aToken {
    return { token, file: join(this.#dir, tokenFiles.a2a) }
  }

  /** Empty until somebody asked for one. */
  get tokenInUse(): string {
    return this.#token ?? ''
  }

  /** What must never leave this machine. */
  get secrets(): string[] {
    return this.#token === undefined ? [] : [this.#token]
  }
}
