/** Light, dark, or as the system says: set before a page is drawn, so that none flashes. */

const NAME = 'svc-colours'
const CHOICES = ['auto', 'light', 'dark'] as const
type Choice = (typeof CHOICES)[number]

/** A browser may keep nothing for a page from the disk. */
function kept(): Choice {
  try {
    return CHOICES.find(choice => choice === localStorage.getItem(NAME)) ?? 'auto'
  } catch {
    return 'auto'
  }
}

function keep(choice: Choice): void {
  try {
    localStorage.setItem(NAME, choice)
  } catch {
    // the choice holds for this page alone
  }
}

function show(choice: Choice): void {
  document.documentElement.dataset['colours'] = choice
  const button = document.querySelector('#site-colours')
  if (button === null) return
  button.textContent = { auto: '◐ Auto', light: '○ Light', dark: '● Dark' }[choice]
  button.setAttribute('aria-label', `Colours: ${choice}`)
}

let chosen = kept()
show(chosen)
addEventListener('DOMContentLoaded', () => {
  show(chosen)
  const button = document.querySelector<HTMLButtonElement>('#site-colours')
  button?.removeAttribute('hidden')
  button?.addEventListener('click', () => {
    chosen = CHOICES[(CHOICES.indexOf(chosen) + 1) % CHOICES.length] ?? 'auto'
    keep(chosen)
    show(chosen)
  })
})
