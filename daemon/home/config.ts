/** Configuration of a node: members, defaults, strict reading, durable writing (node specification: configuration). */
import { join } from 'node:path'
import * as z from 'zod'
import { faultOf } from '../../protocol/contract/fault.ts'
import {
  CAPS_MAX,
  NAME_BYTES_MAX,
  README_BYTES_MAX,
  SUMMARY_BYTES_MAX,
} from '../../protocol/contract/limits.ts'
import { capTag, lineShape, plainShape, visibilityShape } from '../../protocol/contract/shapes.ts'
import { hostName } from '../../protocol/control/a2a.ts'
import { CONTROL_ADDRESS_DEFAULT } from '../../protocol/control/address.ts'
import { type AutoReplyConfig, autoReplyConfig } from '../../protocol/control/auto-reply-config.ts'
import { GUEST_MESSAGES_MAX } from '../../protocol/control/bounds.ts'
import { Refusal } from '../../protocol/encoding/errors.ts'
import { ensureSecretDirectory, findFile, replaceFile } from '../platform/files.ts'
import { A2aConfig } from './a2a-config.ts'
import { ModulesConfig } from './module-config.ts'
import { P2pConfig } from './p2p-config.ts'
import { CosignersConfig, PricesConfig, SpendConfig } from './payment-config.ts'

export const CONFIG_SCHEMA = 1
export const GUEST_MESSAGES_DEFAULT = 5

const CONSOLE_HOSTS_MAX = 16

export const Config = z
  .strictObject({
    schema: z.literal(CONFIG_SCHEMA).default(CONFIG_SCHEMA),
    control_addr: z.string().default(CONTROL_ADDRESS_DEFAULT),
    /** Further names under which a browser may ask, such as that of a tunnel; each with its port, or with ours. */
    console_hosts: z.array(hostName).max(CONSOLE_HOSTS_MAX).optional(),
    /** Whether the console always needs a ticket; unless set, where this node runs programs for others. */
    console_ticket: z.boolean().optional(),
    console_keys: z.boolean().optional(),
    console_fresh_host: z.boolean().optional(),
    /** Where vouchers are taken, and the address of that for whoever has one. */
    voucher_addr: z
      .string()
      .regex(/^[^\s]+:[0-9]{1,5}$/, { error: 'expected an address and a port' })
      .optional(),
    voucher_url: z.url({ protocol: /^https?$/, error: 'expected an http or https address' }).optional(),
    hub_url: z.string().optional(),
    name: lineShape(NAME_BYTES_MAX).default(''),
    caps: z.array(capTag).max(CAPS_MAX).default([]),
    summary: lineShape(SUMMARY_BYTES_MAX).default(''),
    readme: plainShape(README_BYTES_MAX).default(''),
    pricing: z.string().default(''),
    visibility: visibilityShape.optional(),
    accept_delegations: z.boolean().default(true),
    guest_messages: z.int().min(0).max(GUEST_MESSAGES_MAX).default(GUEST_MESSAGES_DEFAULT),
    auto_reply: autoReplyConfig.optional(),
    modules: ModulesConfig.optional(),
    prices: PricesConfig.optional(),
    /** What is taken when priced work is withdrawn after it began; all of its price where nothing stands here. */
    starts: PricesConfig.optional(),
    spend: SpendConfig.optional(),
    cosigners: CosignersConfig.optional(),
    a2a: A2aConfig.optional(),
    p2p: P2pConfig.optional(),
  })
  .refine(config => (config.voucher_addr === undefined) === (config.voucher_url === undefined), {
    message: 'voucher_addr and voucher_url must be given together',
  })
export type Config = z.infer<typeof Config>
/** New values of members; undefined takes a member out. */
export type ConfigChanges = { [M in keyof Config]?: Config[M] | undefined }

export const autoReplyDefaults = {
  poll_interval_seconds: 5,
  max_history: 20,
  api_timeout_seconds: 180,
  max_auto_replies: 30,
  strangers: false,
  guests: false,
  tools: 'none',
  sandbox: true,
} as const

/** The auto-reply block with every default filled in. */
export function autoReplySettings(given: AutoReplyConfig): AutoReplyConfig & typeof autoReplyDefaults {
  return { ...autoReplyDefaults, ...given } as AutoReplyConfig & typeof autoReplyDefaults
}

export class ConfigError extends Refusal<'bad_config'> {
  override name = 'ConfigError'
  constructor(sentence: string) {
    super('bad_config', sentence)
  }
}

export const CONFIG_FILE = 'config.json'
const configFile = (dir: string) => join(dir, CONFIG_FILE)

/** The configuration of a data directory; defaults where there is no file. */
export function readConfig(dir: string): Config {
  const text = findFile(configFile(dir))?.toString('utf8')
  return text === undefined ? Config.parse({}) : parseConfig(text)
}

/** Reads configuration text strictly; an unknown or misspelt member is refused by name. */
export function parseConfig(text: string): Config {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new ConfigError('config.json is not JSON; mend it or remove it')
  }
  return checkConfig(value)
}

export function checkConfig(value: unknown): Config {
  const result = Config.safeParse(value)
  if (result.success) return result.data
  throw new ConfigError(`config.json: ${faultOf(result.error, value, 'the whole file')}`)
}

/** Settings of a configuration that a build with these modules reads and does nothing with. */
export function settingsWithoutEffect(config: Config, compiled: readonly string[]): string[] {
  const given: [string, boolean][] = [
    ...Object.entries(config.modules ?? {}).map(([name, value]): [string, boolean] => [
      `modules.${name}`,
      value !== undefined && !compiled.includes(name),
    ]),
    ['p2p', config.p2p !== undefined && !compiled.includes('p2p')],
  ]
  return given.flatMap(([name, isGiven]) => (isGiven ? [name] : []))
}

/** Replaces the configuration; it may hold a model API key, so it is readable by its owner only. */
export function writeConfig(dir: string, config: ConfigChanges): Config {
  const checked = checkConfig(config)
  ensureSecretDirectory(dir)
  replaceFile(configFile(dir), `${JSON.stringify(checked, null, 2)}\n`, 'node.config')
  return checked
}

/** The host of the control interface; one of IPv6 in its brackets. */
export function controlHost(config: Config): string {
  return config.control_addr.slice(0, config.control_addr.lastIndexOf(':'))
}

/** Hosts that only this machine reaches. */
export const LOOPBACK_HOSTS: readonly string[] = ['127.0.0.1', 'localhost', '[::1]']

export function controlPort(config: Config): number {
  return Number(config.control_addr.slice(config.control_addr.lastIndexOf(':') + 1))
}

/** Host and port of an address; a host of IPv6 stays in its brackets. */
export function addressOf(address: string): [host: string, port: string] {
  const at = address.lastIndexOf(':')
  return [address.slice(0, at), address.slice(at + 1)]
}
