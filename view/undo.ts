/** What `u` says where it takes nothing back: it is about what was done last, and about nothing before that. */
export const NOTHING_TO_UNDO = 'there is nothing to undo'

/** `says`: what was said of the last step. */
export const sayNoUndo = (says: string): string => `this cannot be undone: ${says}`
