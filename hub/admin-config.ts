/** What the operator's surface takes from outside the configuration: its tokens, and the page of this build. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { systemCode } from '../protocol/encoding/errors.ts'
import type { AdminGiven } from './admin-listening.ts'
import type { Config } from './config.ts'
import { ConfigRefused } from './config-refused.ts'

/** Beside the built program; sources have none. */
const PAGE = fileURLToPath(new URL('admin.html', import.meta.url))

/** Tokens and page for a hub that is configured to have the surface; refuses a start without ADMIN_TOKEN. */
export function adminFrom(
  { admin }: Config,
  env: Record<string, string | undefined>,
): AdminGiven | undefined {
  if (admin === undefined) return undefined
  const token = tokenOf(env, 'ADMIN_TOKEN')
  if (token === undefined)
    throw new ConfigRefused(
      'admin_listen opens the page of the operator, and ADMIN_TOKEN is not set in the environment',
      'set it to a secret of your own, such as one of: openssl rand -base64 32',
    )
  return { tokens: { admin: token, monitor: tokenOf(env, 'ADMIN_MONITOR_TOKEN') ?? token }, page: builtPage }
}

/** Nothing of a token is repeated. */
function tokenOf(env: Record<string, string | undefined>, name: string): string | undefined {
  const token = env[name]
  if (token === undefined || token === '') return undefined
  if (/^[\x21-\x7e]{1,1024}$/.test(token)) return token
  throw new ConfigRefused(
    `${name} has characters that no header carries, or more than 1024`,
    'use printable ASCII characters without spaces',
  )
}

function builtPage(): string | undefined {
  try {
    return readFileSync(PAGE, 'utf8')
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined
    throw error
  }
}
