/** What keys do on the screen of the node, and what the node warns of. */

import { present } from '../protocol/encoding/present.ts'
import { banners, isGone } from '../view/faces.ts'
import type { Action } from '../view/keys.ts'
import type { View } from '../view/state.ts'
import { emptyBuffer } from './edit.ts'
import { act, type Effect } from './model.ts'
import { type Scene, type Step, stay, toast } from './scene.ts'

type Undo = NonNullable<Extract<Effect, { type: 'act' }>['undo']>

export function onNode({ model, view, now }: Scene, action: Action): Step | undefined {
  if (action === 'warnings') {
    const faces = banners(view, now)
    if (faces.length === 0) return stay(toast(model, 'the node warns of nothing', 'good'))
    const text = faces
      .map(({ says, next }) => (next === undefined ? says : `${says}\n  ${next}`))
      .concat(isGone(view) ? ['U start the node, on every screen'] : [])
      .join('\n\n')
    return stay({ ...model, output: { title: 'warnings', text, top: 0, isRunning: false } })
  }
  if (model.screen !== 'node') return undefined
  switch (action) {
    case 'copy':
      return view.status === undefined
        ? stay(model)
        : stay(toast(model, `copied ${view.status.aid}`), { type: 'copy', text: view.status.aid })
    case 'toggle_accept': {
      const on = view.status?.accept_delegations !== true
      const asks = on ? 'Take tasks of others again?' : 'Take no tasks of others from now on?'
      return stay({
        ...model,
        confirm: {
          asks,
          facts: [],
          yes: accepting(on, { says: 'as it was', effect: accepting(!on) }),
        },
      })
    }
    case 'auto_reply_off': {
      const back = asItWas(view)
      return stay({
        ...model,
        confirm: {
          asks: 'Turn the auto-reply off?',
          facts: [['then', back === undefined ? GONE : 'nobody answers but you']],
          yes: { ...act('autoReplyOff', {}, 'the auto-reply is off'), ...present({ undo: back }) },
        },
      })
    }
    case 'test_auto_reply':
      return stay({ ...model, prompt: { kind: 'question', buffer: emptyBuffer } })
    default:
      return undefined
  }
}

const GONE = 'nobody answers but you; its settings are gone, :autoreply set makes them anew'

const accepting = (on: boolean, undo?: Undo): Extract<Effect, { type: 'act' }> => ({
  ...act('accept', { on }, on ? 'tasks are taken' : 'no tasks are taken'),
  ...present({ undo }),
})

/** What sets the auto-reply as it stands; nothing where it holds a key, which no screen has. */
function asItWas({ autoReply }: View): Undo | undefined {
  const { api_key_set: hasKey, ...settings } = autoReply?.auto_reply ?? {}
  if (autoReply?.enabled !== true || hasKey === true) return undefined
  return { says: 'on again', effect: act('autoReplySet', settings, 'the auto-reply is on again') }
}
