/**
 * The recipes for coding agents, attacked with the real programs, alone and in bubblewrap: the request reaches the
 * model, nothing of the owner does, nothing of the task stays in the home, and a tool that the model was talked into
 * calling does nothing. Programs that are not installed are skipped by name.
 */
import { describe, expect, test } from 'vitest'
import { attack } from '../../autoreply/attack/attack.ts'
import { recipes } from '../../autoreply/attack/recipes.ts'
import { findSandbox, NO_SANDBOX } from '../../autoreply/sandbox.ts'
import { random } from '../../autoreply/testing.ts'
import { isHere } from './installed.ts'

const env = { PATH: process.env['PATH'] ?? '' }
const found = findSandbox(env)
const walls = [NO_SANDBOX, ...(found.kind === 'none' ? [] : [found])]

describe.each(Object.keys(recipes))('%s', agent => {
  const installed = isHere(agent)
  const title = installed ? '' : ` (skipped: ${agent} is not installed)`

  test.skipIf(!installed).each(walls)(
    `reads and runs nothing for a model that was talked into it, and keeps its owner out of it: $kind${title}`,
    async sandbox => {
      const { version, leaks } = await attack(
        { agent, env, sandbox, extraArgs: [], random },
        AbortSignal.timeout(240_000),
      )
      expect({ version, leaks }).toEqual({ version: expect.stringMatching(/\d/), leaks: [] })
    },
  )
})
