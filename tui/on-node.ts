/** What keys do on the screen of the node, and what the node warns of. */

import { banners, isGone } from '../view/faces.ts'
import type { Action } from '../view/keys.ts'
import { onOff } from '../view/settings/field.ts'
import { emptyBuffer } from './edit.ts'
import { askedAtOnce, openSetting } from './form.ts'
import { paneOf, type Scene, type Step, stay, toast } from './scene.ts'

export function onNode(scene: Scene, action: Action): Step | undefined {
  const { model, view, now } = scene
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
    case 'open': {
      const { selected } = paneOf(model)
      return selected === undefined ? stay(model) : openSetting(scene, selected)
    }
    case 'copy':
      return view.status === undefined
        ? stay(model)
        : stay(toast(model, `copied ${view.status.aid}`), { type: 'copy', text: view.status.aid })
    case 'toggle_accept':
      return askedAtOnce(scene, 'accept', { on: onOff(view.status?.accept_delegations !== true) })
    case 'auto_reply_off':
      return openSetting(scene, 'auto_reply_off')
    case 'test_auto_reply':
      return stay({ ...model, prompt: { kind: 'question', buffer: emptyBuffer } })
    default:
      return undefined
  }
}
