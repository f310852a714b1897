/** `svc autoreply`: show, set, off, test. */

import { present } from '../../protocol/encoding/present.ts'
import { connect } from '../client/control.ts'
import type { Run } from '../command.ts'
import { printJson } from '../io.ts'
import { boolean, flag, flags, integer, textOrFile } from './values.ts'

export const show: Run = async (io, input) => {
  printJson(io, await connect(io, input).call('autoReplyShow'))
  return 0
}

export const off: Run = async (io, input) => {
  printJson(io, await connect(io, input).call('autoReplyOff', {}))
  return 0
}

export const test: Run = async (io, input) => {
  const question = input.positionals[0]
  printJson(io, await connect(io, input).call('autoReplyTest', present({ question })))
  return 0
}

export const set: Run = async (io, input) => {
  const prompt = flags(input, '--system-prompt')[0]
  const extra = flags(input, '--extra-arg')
  const tools = flags(input, '--tools')[0] as 'none' | 'read' | 'write' | undefined
  const backend = flags(input, '--backend')[0] as 'exec' | 'openai' | undefined
  const reply = await connect(io, input).call('autoReplySet', {
    ...present({ backend }),
    ...flag(input, '--agent', 'agent'),
    ...flag(input, '--command', 'command'),
    ...flag(input, '--work-dir', 'work_dir'),
    ...flag(input, '--openclaw-agent', 'openclaw_agent'),
    ...flag(input, '--model', 'model'),
    ...flag(input, '--provider-url', 'provider_url'),
    ...flag(input, '--provider-key-env', 'provider_key_env'),
    ...present({ extra_args: extra.length === 0 ? undefined : [...extra] }),
    ...flag(input, '--api-base', 'api_base'),
    ...flag(input, '--api-key', 'api_key'),
    ...present({
      system_prompt: prompt === undefined ? undefined : textOrFile(io, prompt, '--system-prompt'),
    }),
    ...boolean(input, '--require-image', 'require_image'),
    ...flag(input, '--usage-hint', 'usage_hint'),
    ...flag(input, '--error-reply', 'error_reply'),
    ...integer(input, '--poll-interval', 'poll_interval_seconds'),
    ...integer(input, '--max-history', 'max_history'),
    ...integer(input, '--api-timeout', 'api_timeout_seconds'),
    ...integer(input, '--max-auto-replies', 'max_auto_replies'),
    ...boolean(input, '--strangers', 'strangers'),
    ...present({ tools }),
  })
  printJson(io, reply)
  return 0
}
