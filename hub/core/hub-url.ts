/** Whether a text is the address of a hub, as an operator names a peer or a witness: http or https, and nothing odd in it. */
export function isHubUrl(text: string): boolean {
  return /^https?:\/\/[^\s\p{C}]+$/u.test(text) && URL.canParse(text)
}
